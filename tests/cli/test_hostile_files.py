# SPDX-License-Identifier: MIT
"""Files prepared by somebody else: pipes named like recordings, links of another user, and who may read what we write."""

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

import cli
import tap
from other_user import as_nobody, mode, shared_place

V1 = cli.ROOT / "tests" / "format" / "v1"
OOM = cli.DATA / "corpus" / "c22_oom_capacity_build.pickle.gz"
BUILD = Path(cli.STORMLOG).parent
SECONDS = 20  # far less than for ever


def make_run(folder):
    """A run folder with one recording and everything else that may have such a name."""
    run = Path(folder) / "run"
    run.mkdir()
    shutil.copy(V1 / "closed.slog", run)
    os.mkfifo(run / "pipe.slog")
    (run / "folder.slog").mkdir()
    (run / "gone.slog").symlink_to("/nonexistent")
    (run / "device.slog").symlink_to("/dev/zero")
    server = socket.socket(socket.AF_UNIX)
    server.bind(os.path.relpath(run / "socket.slog"))
    server.close()
    return run


@tap.test("none of our libraries and programs imports umask, which would affect the whole process")
def _():
    files = [path for pattern in ("stormlog", "libstormlog*.so*", "python/stormlog/*.so") for path in BUILD.glob(pattern)
             if path.is_file() and not path.is_symlink()]
    tap.true(len(files) >= 3, f"files to look at in {BUILD}: {files}")
    for path in files:
        symbols = tap.run(["nm", "-D", "--undefined-only", str(path)], check=True).stdout
        tap.true("umask" not in symbols.replace("@", " ").split(), f"{path.name} imports no umask")
    sources = [path for path in (cli.ROOT / "python").rglob("*.py") if "umask(" in path.read_text(encoding="utf-8")]
    tap.equal(sources, [], "Python files that call os.umask")


@tap.test("a pipe, folder, device or socket named x.slog in a run folder is skipped with a note, and no command hangs")
def _(folder):
    run = make_run(folder)
    for command in (["analyze"], ["fsck"], ["cat"], ["report", "-o", f"{folder}/page.html"]):
        done = cli.stormlog(command[0], run, *command[1:], timeout=SECONDS)
        tap.equal(done.returncode, 0, f"{command}: {done.stderr}")
        for name in ("pipe", "folder", "device", "socket", "gone"):
            tap.contains(done.stderr, f"'{run}/{name}.slog' is not a regular file; skipped", str(command))
    done = cli.stormlog("top", run, "--once", timeout=SECONDS)
    tap.equal(done.returncode, 0, f"top: {done.stderr}")


@tap.test("a run folder without a regular recording is reported as such")
def _(folder):
    os.mkfifo(f"{folder}/pipe.slog")
    for command in ("analyze", "top", "cat"):
        done = cli.stormlog(command, folder, timeout=SECONDS)
        tap.equal(done.returncode, 3, f"{command}: {done.stderr}")


@tap.test("top refuses a pipe at once")
def _(folder):
    os.mkfifo(f"{folder}/pipe.slog")
    done = cli.stormlog("top", f"{folder}/pipe.slog", timeout=SECONDS)
    tap.contains(done.stderr, "not a regular file")
    tap.equal(done.returncode, 3, "exit code")


@tap.test("ranks: a pipe named x.json in a folder is skipped")
def _(folder):
    os.mkfifo(f"{folder}/pipe.json")
    done = cli.stormlog("ranks", folder, timeout=SECONDS)
    tap.contains(done.stderr, "contains no recording (*.slog), snapshot, telemetry file")


@tap.test("snapshots and recordings can be read from a pipe: /dev/stdin and <(...)")
def _(folder):
    for source in (OOM, V1 / "closed.slog"):
        expected = json.loads(cli.good("analyze", "-f", "json", source))
        command = f"'{cli.STORMLOG}' analyze -f json"
        for script in (f"cat '{source}' | {command} /dev/stdin", f"{command} <(cat '{source}')"):
            done = tap.run(["bash", "-c", script], timeout=SECONDS)
            tap.equal(done.returncode, 0, f"{script}: {done.stderr}")
            tap.equal(json.loads(done.stdout)["findings"], expected["findings"], f"findings of {script}")


@tap.test("-o: a new file follows the umask, a replaced one keeps its mode, a link stays a link")
def _(folder):
    tap.needs("gzip")
    target, link = f"{folder}/target", f"{folder}/link"
    for mask in (0o022, 0o077, 0o002):
        out = f"{folder}/new-{mask:o}"
        subprocess.run([cli.STORMLOG, "export", OOM, "--to", "folded", "-o", out], check=True, umask=mask)
        tap.equal(mode(out), oct(0o666 & ~mask), f"mode under umask {mask:o}")
    Path(target).write_text("old")
    os.chmod(target, 0o640)
    os.symlink("target", link)
    cli.good("export", OOM, "--to", "folded", "-o", link)
    tap.true(os.path.islink(link), "the link is still there")
    tap.equal(mode(target), oct(0o640), "mode of the file behind the link")
    tap.true(Path(target).read_text() != "old", "the file behind the link is new")
    tap.equal(sorted(name for name in os.listdir(folder) if "tmp" in name), [], "temporary files left")


@tap.test("-o: a link or file that another user put into a folder such as /tmp is refused, and its target is unchanged")
def _(folder):
    place = shared_place(folder)
    victim = Path(folder) / "victim"
    victim.write_text("precious")
    as_nobody(f"ln -s '{victim}' '{place}/link'; mkfifo '{place}/pipe'; mkdir '{place}/dir'")
    for name in ("link", "pipe", "dir/out"):
        done = cli.stormlog("export", OOM, "--to", "folded", "-o", place / name, timeout=SECONDS)
        tap.equal(done.returncode, 4, f"exit code for {name}: {done.stderr}")
        tap.contains(done.stderr, "belongs to another user, in a folder that everybody may write to")
    tap.equal(victim.read_text(), "precious", "the link's target")
    cli.good("export", OOM, "--to", "folded", "-o", place / "mine")


@tap.test("only the owner can read a bundle, unless STORMLOG_SHARE is set")
def _(folder):
    for number, (env, dirs, files) in enumerate((({}, 0o700, 0o600), ({"STORMLOG_SHARE": "0"}, 0o700, 0o600),
                                                 ({"STORMLOG_SHARE": "1"}, 0o755, 0o644))):
        out = f"{folder}/{number}"
        path = cli.good("export", OOM, "--to", "oom-bundle", "-o", out, env=env, umask=0o022).split()[0]
        tap.equal(mode(path), oct(dirs), f"folder with {env}")
        tap.equal({mode(os.path.join(path, name)) for name in os.listdir(path)}, {oct(files)}, f"files with {env}")
        tap.equal([name for name in os.listdir(out) if name.startswith(".")], [], "temporary folders left")


@tap.test("a bundle is not written where another user has put a folder or a link")
def _(folder):
    place = shared_place(folder)
    (Path(folder) / "target").mkdir()
    as_nobody(f"mkdir -m 777 '{place}/theirs'; ln -s '{folder}/target' '{place}/link'")
    for name in ("theirs", "link"):
        done = cli.stormlog("export", OOM, "--to", "oom-bundle", "-o", place / name)
        tap.equal(done.returncode, 4, f"exit code for {name}: {done.stderr}")
    tap.equal(os.listdir(f"{folder}/target"), [], "written behind the link")


@tap.test("with closed standard streams, no message ends up in an output file")
def _(folder):
    out = f"{folder}/out"
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        done = tap.run(["bash", "-c", f"'{cli.STORMLOG}' export '{OOM}' --to folded -o '{out}' {closed}"])
        tap.equal(done.returncode, 0, f"exit code with {closed}")
        tap.equal(Path(out).read_text(), cli.good("export", OOM, "--to", "folded"), f"the file with {closed}")
    done = tap.run(["bash", "-c", f"'{cli.STORMLOG}' analyze '{OOM}' >&-"])
    tap.equal(done.returncode, 4, "output that cannot be written is a failure")


tap.main()
