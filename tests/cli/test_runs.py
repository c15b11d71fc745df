# SPDX-License-Identifier: MIT
"""`stormlog runs`: what was recorded here, and removing old runs without ever touching anything else. Arguments: the program."""

import fcntl
import json
import os
import shutil
import struct
import subprocess
import sys
import time
import zlib

import tap

STORMLOG = os.path.abspath(sys.argv.pop(1))
V1 = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "format", "v1")
NOW = int(time.time())
DAY = 86400


def stormlog(*arguments, code=0, cwd=None, env=None):
    done = tap.run([STORMLOG, *arguments], cwd=cwd, env={**os.environ, "COLUMNS": "80", **(env or {})})
    tap.equal(done.returncode, code, f"exit code of {arguments}: {done.stdout}{done.stderr}")
    return done


def set_start(path, start_s, command):
    """Changes the header at the offsets of docs/format.md."""
    with open(path, "r+b") as file:
        header = bytearray(file.read(4096))
        struct.pack_into("<Q", header, 48, start_s * 10**9)
        struct.pack_into("<1600s", header, 2424, command.encode())
        struct.pack_into("<I", header, 16, 0)
        struct.pack_into("<I", header, 16, zlib.crc32(header))
        file.seek(0)
        file.write(header)


def make_run(folder, age_days, name="train", kind="closed", command=None):
    """A run that began so many days ago; returns its folder."""
    start_s = NOW - int(age_days * DAY)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(start_s))
    path = os.path.join(folder, "stormlog-runs", f"{stamp}-{name}")
    os.makedirs(path)
    file = os.path.join(path, "python3-1.slog")
    shutil.copy(os.path.join(V1, kind + ".slog"), file)
    set_start(file, start_s, command or f"python3 {name}.py")
    return path


def rows(folder, *options):
    return json.loads(stormlog("runs", "--format", "json", *options, cwd=folder).stdout)["runs"]


def names(folder):
    return sorted(os.listdir(os.path.join(folder, "stormlog-runs")))


@tap.test("runs are listed newest first, with the verdict of analyze, size, age and command")
def _(folder):
    for age, name in ((3, "old"), (1, "new"), (2, "middle")):
        make_run(folder, age, name)
    found = rows(folder)
    tap.equal([row["command"] for row in found], ["python3 new.py", "python3 middle.py", "python3 old.py"], "order")
    for row, age in zip(found, (1, 2, 3)):
        report = json.loads(stormlog("analyze", "--format", "json", row["path"], cwd=folder).stdout)
        tap.equal((row["verdict"], row["state"]), (report["verdict"], "finished"), "verdict")
        tap.true(0 <= row["age_s"] - age * DAY < 600, f"age of {row}")
        tap.true(row["bytes"] > 0, "size on disk")
    text = stormlog("runs", cwd=folder).stdout
    tap.equal([line.split()[-1] for line in text.splitlines()[1:4]], ["new.py", "middle.py", "old.py"], text)
    tap.contains(text, "3 runs, ")
    tap.true("prune" not in text, "no advice to remove some of three")
    tap.equal(text, stormlog("runs", "list", cwd=folder).stdout, "the same as 'runs list'")
    tap.equal([row["verdict"] for row in rows(folder, "--no-verdict")], [None] * 3, "without verdicts")
    tap.equal(len(rows(folder, "--last", "2")), 2, "the newest two")
    other = os.path.join(folder, "stormlog-runs")
    tap.equal(len(rows("/", "--dir", other)), 3, "another folder")


@tap.test("broken, empty and half-written runs are listed; other folders are not")
def _(folder):
    make_run(folder, 1, "good")
    with open(os.path.join(make_run(folder, 2, "cut"), "python3-1.slog"), "r+b") as file:
        file.truncate(5000)
    half = make_run(folder, 3, "half")
    with open(os.path.join(half, "python3-2.slog"), "wb"):
        pass
    os.unlink(os.path.join(make_run(folder, 4, "empty"), "python3-1.slog"))
    closed = make_run(folder, 5, "closed")
    os.makedirs(os.path.join(folder, "stormlog-runs", "notes"))
    os.symlink(os.path.basename(closed), os.path.join(folder, "stormlog-runs", "latest"))
    if os.geteuid() != 0:
        os.chmod(closed, 0)
    found = {row["path"].split("-")[-1]: row for row in rows(folder)}
    os.chmod(closed, 0o700)
    tap.equal(sorted(found), ["closed", "cut", "empty", "good", "half"], "rows")
    tap.equal((found["cut"]["state"], found["cut"]["verdict"]), ("broken", None), "a recording that was cut")
    tap.contains(found["cut"]["problem"], "python3-1.slog: ")
    tap.equal((found["half"]["state"], found["half"]["unreadable_recordings"]), ("finished", 1), "half of it")
    tap.true(found["half"]["verdict"] is not None, "a verdict from the readable half")
    tap.equal((found["empty"]["state"], found["empty"]["recordings"]), ("empty", 0), "nothing in it")
    text = stormlog("runs", cwd=folder).stdout
    for word in ("broken ", "empty "):
        tap.true(any(line.startswith(word) for line in text.splitlines()), f"{word}in {text}")


@tap.test("without the default folder the list is empty; a folder that is given must exist")
def _(folder):
    tap.contains(stormlog("runs", cwd=folder).stdout, "0 runs, 0 B in stormlog-runs.")
    tap.equal(rows(folder), [], "JSON")
    done = stormlog("runs", "--dir", "nowhere", code=3, cwd=folder)
    tap.contains(done.stderr, "cannot read the folder 'nowhere'")


@tap.test("prune prints what it removes; --dry-run removes nothing; latest follows")
def _(folder):
    paths = [make_run(folder, age) for age in range(1, 6)]
    os.symlink(os.path.basename(paths[4]), os.path.join(folder, "stormlog-runs", "latest"))
    before = names(folder)
    dry = stormlog("runs", "prune", "--keep", "2", "--dry-run", cwd=folder).stdout
    tap.equal(names(folder), before, "after --dry-run")
    tap.contains(dry, "would remove 3 of 5 runs")
    real = stormlog("runs", "prune", "--keep", "2", cwd=folder).stdout
    tap.equal(real, dry.replace("would remove", "removing"), "the same list")
    tap.equal([os.path.exists(path) for path in paths], [True, True, False, False, False], "the newest are left")
    tap.equal(os.readlink(os.path.join(folder, "stormlog-runs", "latest")), os.path.basename(paths[0]), "latest")
    stormlog("runs", "prune", "--keep", "0", cwd=folder)
    tap.equal(names(folder), [], "everything, and the link")


@tap.test("with several rules, prune removes only runs that match all of them")
def _(folder):
    paths = [make_run(folder, age) for age in (1, 10, 20, 40, 50)]
    left = lambda: [int(os.path.exists(path)) for path in paths]  # noqa: E731
    stormlog("runs", "prune", "--older-than", "30d", "--keep", "4", cwd=folder)
    tap.equal(left(), [1, 1, 1, 1, 0], "older, and beyond the newest four")
    stormlog("runs", "prune", "--older-than", "30d", cwd=folder)
    tap.equal(left(), [1, 1, 1, 0, 0], "older")
    size = rows(folder)[0]["bytes"]
    stormlog("runs", "prune", "--max-size", str(2 * size), cwd=folder)
    tap.equal(left(), [1, 1, 0, 0, 0], "the oldest, until the rest fits")
    done = stormlog("runs", "prune", code=2, cwd=folder)
    tap.contains(done.stderr, "'prune' needs a rule: --keep N")
    tap.contains(stormlog("runs", "--keep", "1", code=2, cwd=folder).stderr, "'--keep' is an option of 'runs prune'")
    tap.contains(stormlog("runs", "purge", code=2, cwd=folder).stderr, "expected list or prune")
    tap.equal(left(), [1, 1, 0, 0, 0], "nothing more")


@tap.test("prune never removes other files, links or other folders")
def _(folder):
    runs = os.path.join(folder, "stormlog-runs")
    with_notes = make_run(folder, 1, "notes")
    with open(os.path.join(with_notes, "thesis.txt"), "w") as file:
        file.write("months of work")
    with_folder = make_run(folder, 2, "folder")
    os.makedirs(os.path.join(with_folder, "python3-1.slog.oom-1", "deeper"))
    with_link = make_run(folder, 3, "link")
    precious = os.path.join(folder, "precious")
    os.makedirs(precious)
    shutil.copy(os.path.join(V1, "closed.slog"), precious)
    os.symlink(precious, os.path.join(with_link, "python3-2.slog.oom-1"))
    os.symlink(precious, os.path.join(runs, "20200101T000000Z-elsewhere"))
    os.makedirs(os.path.join(runs, "models"))
    with open(os.path.join(runs, "models", "x.slog"), "w") as file:
        file.write("another program's")
    before = names(folder)
    text = stormlog("runs", "prune", "--keep", "0", cwd=folder).stdout
    tap.equal(names(folder), before, "what is there")
    tap.equal(os.listdir(precious), ["closed.slog"], "behind the links")
    tap.contains(text, "it contains 'thesis.txt', which stormlog did not write")
    tap.contains(text, "none of its files can be read as a recording")
    tap.contains(text, "nothing to remove: 4 runs, ")


@tap.test("prune removes everything of a run, including bundles and temporary files of a killed process")
def _(folder):
    run = make_run(folder, 2)
    os.makedirs(os.path.join(run, "python3-1.slog.oom-1"))
    for name in ("python3-1.slog.oom-1/manifest.json", "python3-1.slog.oom-1/report.txt", "python3-1.slog.tmp-AbCdEf",
                 ".stormlog-AbCdEf"):
        with open(os.path.join(run, name), "w") as file:
            file.write("x")
    stormlog("runs", "prune", "--keep", "0", cwd=folder)
    tap.equal(names(folder), [], "runs left")


@tap.test("a run in use is never removed: its folder is locked before the first recording exists")
def _(folder):
    tap.skip_if_sanitized(STORMLOG)
    process = subprocess.Popen([STORMLOG, "run", "-q", "--", "/bin/sh", "-c", "echo started; read x"], cwd=folder,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    tap.equal(process.stdout.readline(), b"started\n", "the command's word")
    row, = rows(folder)
    tap.equal((row["state"], row["recordings"]), ("running", 0), "while the command runs")
    text = stormlog("runs", "prune", "--keep", "0", cwd=folder).stdout
    tap.contains(text, "it is still being written")
    tap.equal(len([name for name in names(folder) if name != "latest"]), 1, "it is there")
    process.communicate(b"x\n", timeout=180)
    tap.equal(process.returncode, 0, "the command's exit code")


@tap.test("a recording that a process still writes is shown as running")
def _(folder):
    run = make_run(folder, 1, kind="killed")
    with open(os.path.join(run, "python3-1.slog"), "r+b") as file:
        lock = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
        try:
            fcntl.fcntl(file, 37, lock)  # F_OFD_SETLK, as the writer takes it
        except OSError:
            tap.skip("no open file description locks here")
        state = rows(folder)[0]["state"]
        if state != "running":
            tap.skip(f"the writer's lock is another one: {state}")
        stormlog("runs", "prune", "--keep", "0", cwd=folder)
        tap.equal(os.path.exists(run), True, "it is there")
    tap.equal(rows(folder)[0]["state"], "finished", "when its writer is gone")


@tap.test("200 runs are printed one row at a time")
def _(folder):
    for number in range(200):
        make_run(folder, 1 + number / 10, f"n{number}")
    text = stormlog("runs", cwd=folder).stdout
    tap.equal(len(text.splitlines()), 204, "lines")
    tap.contains(text, "200 runs, ")
    tap.contains(text, "'stormlog runs prune --keep 10' removes the")
    tap.contains(text, "stormlog compact")


tap.main()
