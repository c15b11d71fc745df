# SPDX-License-Identifier: MIT
"""`stormlog run` in difficult environments: the command always runs, and messages are true. Arguments: the program."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import tap
from other_user import AS_NOBODY, as_nobody, mode, need_other_user, shared_place
from plain_torch import PYTHON, need_torch

stormlog = os.path.abspath(sys.argv.pop(1))
LIBRARY = Path(stormlog).with_name("libstormlog_record.so")
SECONDS = 60

TORCH = """
import torch
kept = [torch.zeros(1000) for _ in range(10)]
print("done")
"""
OOMS = """
import torch
for _ in range({count}):
    try:
        torch.empty(1 << 50, dtype=torch.float64)
    except RuntimeError:
        pass
"""


def clean_env(**more):
    env = {name: value for name, value in os.environ.items()
           if not re.match(r"STORMLOG_|LD_PRELOAD|RANK$|LOCAL_RANK$|WORLD_SIZE$|SLURM_|OMPI_|PMI", name)}
    return {**env, **more}


def run(*arguments, **options):
    tap.skip_if_sanitized(stormlog)
    return tap.run([stormlog, "run", *map(str, arguments)], **{"env": clean_env(), "timeout": SECONDS, **options})


def shell(script, **options):
    tap.skip_if_sanitized(stormlog)
    return tap.run(["bash", "-c", script], **{"env": clean_env(), "timeout": SECONDS, **options})


def torch_program(folder, source=TORCH):
    need_torch(stormlog)
    path = Path(folder) / "program.py"
    path.write_text(source)
    return [PYTHON, str(path)]


def recordings(folder):
    return sorted(path.name for path in Path(folder).glob("*.slog")) if os.path.isdir(folder) else []


# --- what the command inherits ----------------------------------------------------------------------------------


def preload_of(before):
    result = run("-q", "--", "sh", "-c", 'echo "$LD_PRELOAD"', env=clean_env(**({"LD_PRELOAD": before} if before else {})))
    return result.stdout.rstrip("\n"), result.stderr


@tap.test("LD_PRELOAD has our library first and once; older copies of it are removed, the others keep their order")
def _(folder):
    other = Path(folder) / "other" / LIBRARY.name
    other.parent.mkdir()
    shutil.copy(LIBRARY, other)
    m, c = "/lib/x86_64-linux-gnu/libm.so.6", "libc.so.6"
    for before, expected in (
            (None, ""),
            (str(other), ""),
            (f"{other}:{m}", f":{m}"),
            (f"{m} {other}  {c}", f":{m}:{c}"),
            (f"::{c}:{LIBRARY}:{m}:{LIBRARY.name} ", f":{c}:{m}"),
            (f"{m}", f":{m}")):
        if m in (before or "") and not os.path.exists(m):
            continue
        found, _ = preload_of(before)
        tap.equal(found, str(LIBRARY) + expected, f"LD_PRELOAD after {before!r}")


@tap.test("a run inside a run, even of another installation, has one recorder, which writes to the inner folder")
def _(folder):
    tap.skip_if_sanitized(stormlog)
    program = torch_program(folder)
    other = Path(folder) / "other"
    other.mkdir()
    for name in ("stormlog", LIBRARY.name):
        shutil.copy(Path(stormlog).with_name(name), other)
    for outer in (stormlog, other / "stormlog"):
        result = tap.run([str(outer), "run", "-o", f"{folder}/outer", "--", stormlog, "run", "-o", f"{folder}/inner", "--", *program],
                         env=clean_env(), timeout=SECONDS)
        tap.equal((result.returncode, result.stdout), (0, "done\n"), result.stderr)
        tap.equal((len(recordings(f"{folder}/inner")), recordings(f"{folder}/outer")), (1, []), "recordings; " + result.stderr)
        shutil.rmtree(f"{folder}/inner")


@tap.test("closed standard streams stay closed in the command, and none of our files gets their descriptors")
def _(folder):
    listing = Path(folder) / "fds"
    script = Path(folder) / "list.py"
    script.write_text("import os, sys\nopen_now = {}\nfor fd in range(3):\n    try:\n"
                      "        open_now[fd] = os.readlink(f'/proc/self/fd/{fd}')\n"
                      f"    except OSError:\n        pass\nopen({str(listing)!r}, 'w').write(repr(sorted(open_now)))\n")
    program = torch_program(folder)
    for closed, expected in (("<&-", [1, 2]), (">&-", [0, 2]), ("2>&-", [0, 1]), ("<&- >&- 2>&-", [])):
        result = shell(f"'{stormlog}' run -o '{folder}/run' -- {PYTHON} -S -E '{script}' {closed} 3>&-")
        tap.equal(result.returncode, 0, f"exit code with {closed}")
        tap.equal(listing.read_text(), repr(expected), f"open in the command with {closed}")
        out = f"{folder}/{len(closed)}"
        tap.equal(shell(f"'{stormlog}' run -o '{out}' -- {' '.join(program)} {closed}").returncode, 0, f"exit code with {closed}")
        found = tap.run([stormlog, "fsck", out])
        tap.equal(found.returncode, 0, f"fsck with {closed}: {found.stdout}{found.stderr}")


@tap.test("with few file descriptors left, the command runs and is recorded")
def _(folder):
    result = shell(f"ulimit -n 16; '{stormlog}' run -o '{folder}/run' -- {' '.join(torch_program(folder))}")
    tap.equal((result.returncode, result.stdout), (0, "done\n"), result.stderr)
    result = shell(f"ulimit -n 4; '{stormlog}' run -o '{folder}/few' -- sh -c 'exit 7'")
    tap.equal(result.returncode, 7, result.stderr)


@tap.test("without /proc the command runs, one line reports that it is not recorded, and its exit code is returned")
def _(folder):
    tap.skip_if_sanitized(stormlog)
    hide = "mount -t tmpfs tmpfs /proc"
    if tap.run(["unshare", "-rm", *hide.split()]).returncode != 0:
        tap.skip("/proc cannot be hidden here")
    script = f"{hide}; '{stormlog}' run -o '{folder}/run' -- sh -c 'echo ran; exit 7'"
    result = tap.run(["unshare", "-rm", "sh", "-c", script], env=clean_env())
    tap.equal((result.returncode, result.stdout), (7, "ran\n"), result.stderr)
    tap.equal(len(result.stderr.splitlines()), 1, f"lines: {result.stderr}")
    tap.contains(result.stderr, "not recording '")
    tap.contains(result.stderr, "/proc")
    tap.equal(os.path.exists(f"{folder}/run"), False, "a folder is left")


@tap.test("without HOME the command runs and is recorded")
def _(folder):
    env = clean_env()
    env.pop("HOME", None)
    result = run("-o", f"{folder}/run", "--", *torch_program(folder), env=env)
    tap.equal((result.returncode, len(recordings(f"{folder}/run"))), (0, 1), result.stderr)


@tap.test("SIGINT and SIGTERM reach the command, and its exit code is returned")
def _(folder):
    tap.skip_if_sanitized(stormlog)
    for number in (signal.SIGINT, signal.SIGTERM):
        ready = Path(folder) / f"ready-{number}"
        script = f"trap 'exit 33' {int(number)}; : > '{ready}'; while :; do sleep 0.05; done"
        process = subprocess.Popen([stormlog, "run", "-q", "-o", f"{folder}/run", "--", "bash", "-c", script], env=clean_env(),
                                   start_new_session=True)
        deadline = time.monotonic() + SECONDS
        while not ready.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(number)
        tap.equal(process.wait(timeout=SECONDS), 33, f"exit code after signal {int(number)}")


# --- folders ----------------------------------------------------------------------------------------------------


@tap.test("only the owner can read a run's folder, unless --share or STORMLOG_SHARE is given")
def _(folder):
    program = torch_program(folder, OOMS.format(count=1))
    for number, (options, env, dirs, files) in enumerate((
            ([], {}, 0o700, 0o600), (["--share"], {}, 0o755, 0o644), ([], {"STORMLOG_SHARE": "1"}, 0o755, 0o644),
            ([], {"STORMLOG_SHARE": ""}, 0o700, 0o600))):
        out = Path(folder) / "runs" / str(number)
        result = run(*options, "-o", out, "--", *program, env=clean_env(**env), umask=0o022)
        tap.equal((result.returncode, mode(out)), (0, oct(dirs)), f"{options} {env}: {result.stderr}")
        bundle = next(out.glob("*.oom-1"))
        tap.equal((mode(bundle), {mode(path) for path in bundle.iterdir()}), (oct(dirs), {oct(files)}), f"bundle {options} {env}")


@tap.test("a parent folder that cannot be written to is named with the real reason, and the command runs")
def _(folder):
    need_other_user()
    os.chmod(folder, 0o755)
    result = shell(f"{' '.join(AS_NOBODY)} '{stormlog}' run -o '{folder}/a/b/c' -- echo ran")
    tap.equal((result.returncode, result.stdout), (0, "ran\n"), result.stderr)
    tap.contains(result.stderr, f"cannot create the folder '{folder}/a/b/c': cannot create the folder '{folder}/a': Permission denied")


@tap.test("a folder that another user prepared in a place such as /tmp is refused, and the command runs")
def _(folder):
    tap.skip_if_sanitized(stormlog)
    place, target = shared_place(folder), Path(folder) / "target"
    target.mkdir()
    as_nobody(f"mkdir -m 777 '{place}/stormlog-runs' '{place}/theirs'; ln -s '{target}' '{place}/link'")
    for options in ([], ["-o", place / "theirs"], ["-o", place / "theirs" / "new"], ["-o", place / "link" / "new"]):
        result = run(*options, "--", "echo", "ran", cwd=place)
        tap.equal((result.returncode, result.stdout), (0, "ran\n"), f"{options}: {result.stderr}")
        tap.contains(result.stderr, "belongs to another user, in a folder that everybody may write to", str(options))
    tap.equal((os.listdir(target), os.listdir(place / "theirs")), ([], []), "what was written there")


@tap.test("latest is replaced if it is a link, and left unchanged if it is a file of the user")
def _(folder):
    program = torch_program(folder)
    runs = Path(folder) / "stormlog-runs"
    names = []
    for _ in range(2):
        tap.equal(run("-q", "--", *program, cwd=folder).returncode, 0, "exit code")
        names.append(os.readlink(runs / "latest"))
    tap.true(names[0] != names[1] and (runs / names[1]).is_dir(), f"latest follows: {names}")
    (runs / "latest").unlink()
    (runs / "latest").write_text("mine")
    tap.equal(run("-q", "--", *program, cwd=folder).returncode, 0, "exit code")
    tap.equal((runs / "latest").read_text(), "mine", "the user's file")
    tap.equal([name for name in os.listdir(runs) if name.startswith(".")], [], "left behind")


@tap.test("a pipe named x.slog in the run's folder does not make the launcher hang")
def _(folder):
    os.mkdir(f"{folder}/run")
    os.mkfifo(f"{folder}/run/before.slog")
    result = run("-o", f"{folder}/run", "--", "sh", "-c", f"mkfifo '{folder}/run/during.slog'; sleep 0.6; echo ran")
    tap.equal((result.returncode, result.stdout), (0, "ran\n"), result.stderr)
    tap.contains(result.stderr, "no process wrote memory events")
    result = run("-o", f"{folder}/run", "--", *torch_program(folder))
    tap.equal(result.returncode, 0, result.stderr)
    tap.contains(result.stderr, "recorded 1 process in ")


# --- reported reasons ---------------------------------------------------------------------------------------------


@tap.test("a folder that is removed during the run is reported as the reason, and the command continues")
def _(folder):
    out = f"{folder}/run"
    result = run("-o", out, "--", "sh", "-c", f"rm -r '{out}'; echo ran")
    tap.equal((result.returncode, result.stdout), (0, "ran\n"), result.stderr)
    tap.contains(result.stderr, f"nothing was recorded: the folder '{out}' was removed during the run")


@tap.test("a full disk is never reported as a run without memory events")
def _(folder):
    tap.skip_if_sanitized(stormlog)
    place, program = f"{folder}/small", torch_program(folder)
    os.mkdir(place)
    if tap.run(["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place]).returncode != 0:
        tap.skip("no small file system can be mounted here")
    for size in ("64k", "3m", "20m"):
        script = f"mount -t tmpfs -o size={size} tmpfs {place} && '{stormlog}' run -o {place}/run -- {' '.join(program)}"
        result = tap.run(["unshare", "-rm", "sh", "-c", script], env=clean_env())
        tap.equal((result.returncode, result.stdout), (0, "done\n"), result.stderr)
        tap.contains(result.stderr, "nothing was recorded: cannot write to the folder ", size)
        tap.true("no memory events" not in result.stderr, result.stderr)


@tap.test("with a limit on file sizes, only the recorder's own reason is reported")
def _(folder):
    result = shell(f"ulimit -f 1000; '{stormlog}' run -o '{folder}/run' -- {' '.join(torch_program(folder))}")
    tap.equal((result.returncode, result.stdout), (0, "done\n"), result.stderr)
    tap.contains(result.stderr, "(ulimit -f)")
    tap.equal(result.stderr.splitlines()[-1], "stormlog: nothing was recorded", "the last line")


@tap.test("the reported number of bundles is the number of bundles on disk")
def _(folder):
    for count, words in ((1, None), (2, "evidence was saved for both"), (5, "evidence was saved for all of them"),
                         (3000, "evidence was saved for 8 of them")):
        out = f"{folder}/{count}"
        result = run("-o", out, "--", *torch_program(folder, OOMS.format(count=count)))
        tap.equal(result.returncode, 0, result.stderr)
        tap.equal(len(list(Path(out).glob("*.oom-*"))), min(count, 8), f"bundles of {count} failures; {result.stderr}")
        tap.equal(result.stderr.count("out of memory: evidence in "), 1, result.stderr)
        if words:
            tap.contains(result.stderr, f"{count} requests failed in ")
            tap.contains(result.stderr, words)
        else:
            tap.true("request failed" not in result.stderr and "requests failed" not in result.stderr, result.stderr)


@tap.test("when bundles fill the disk, the message counts complete ones, and no incomplete one is left")
def _(folder):
    tap.skip_if_sanitized(stormlog)
    place, program = f"{folder}/small", torch_program(folder, OOMS.format(count=3))
    os.mkdir(place)
    if tap.run(["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place]).returncode != 0:
        tap.skip("no small file system can be mounted here")
    fill = f"head -c 23m /dev/zero > {place}/fill"
    script = (f"mount -t tmpfs -o size=47m tmpfs {place} && {fill}; '{stormlog}' run -o {place}/run -- {' '.join(program)};"
              f" echo exit $?; ls -A {place}/run")
    result = tap.run(["unshare", "-rm", "sh", "-c", script], env=clean_env())
    tap.true(result.stdout.startswith("exit 0\n"), result.stdout + result.stderr)
    there = [name for name in result.stdout.splitlines()[1:] if ".oom-" in name]
    tap.equal([name for name in there if name.startswith(".")], [], "half bundles; " + result.stderr)
    if not there:
        tap.contains(result.stderr, "out of memory, but no bundle was written: ")
        tap.true("evidence was saved for" not in result.stderr, result.stderr)


tap.main()
