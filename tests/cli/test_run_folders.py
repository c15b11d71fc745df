# SPDX-License-Identifier: MIT
"""Folders as inputs: runs of several processes, folders of other files, the latest run. No command takes one of several
without saying so. Arguments: the program."""

import json
import lzma
import os
import re
import shutil
import struct
import sys
import zlib

import tap

STORMLOG = os.path.abspath(sys.argv.pop(1))
V1 = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "format", "v1")
NAMES = ["closed", "wrapped"]
# Memory that the font library keeps is not our leak.
ENV = {**os.environ, "LSAN_OPTIONS": f"suppressions={os.path.dirname(os.path.abspath(__file__))}/lsan_fonts.supp:print_suppressions=0"}


def make(folder, *names):
    """A run folder with these recordings, and a bundle that must not be taken for one."""
    path = os.path.join(folder, "run")
    os.makedirs(os.path.join(path, "closed.slog.oom-1"), exist_ok=True)
    for name in names:
        shutil.copy(os.path.join(V1, name + ".slog"), path)
    return path


def set_process(path, pid, parent=0, rank=-1, start_s=0, command="python3 train.py"):
    """Changes a recording's identity to that of another process (docs/format.md)."""
    with open(path, "r+b") as file:
        header = bytearray(file.read(4096))
        struct.pack_into("<Q", header, 48, 1_700_000_000 * 10**9 + int(start_s * 10**9))
        struct.pack_into("<I", header, 64, pid)
        struct.pack_into("<I", header, 4024, parent)
        struct.pack_into("<1600s", header, 2424, command.encode())
        struct.pack_into("<I", header, 16, 0)
        struct.pack_into("<I", header, 16, zlib.crc32(header))
        file.seek(0)
        file.write(header)
        file.seek(4096 + 24)
        file.write(struct.pack("<ii", rank, rank))


def make_ranks(folder, name, *ranks):
    """A run of these ranks, each with a child process that inherits its rank."""
    path = os.path.join(folder, name)
    os.makedirs(path)
    for rank in ranks:
        for child in (0, 1):
            file = os.path.join(path, f"rank{rank}-python3-{100 * child + rank + 10}.slog")
            shutil.copy(os.path.join(V1, "closed.slog"), file)
            set_process(file, 100 * child + rank + 10, rank + 10 if child else 1, rank, child)
    return path


def stormlog(*arguments, code=0, cwd=None):
    result = tap.run([STORMLOG, *arguments], env=ENV, cwd=cwd)
    tap.equal(result.returncode, code, f"exit code of {arguments}: {result.stderr}")
    return result


def refused(*arguments, cwd=None):
    result = stormlog(*arguments, code=2, cwd=cwd)
    tap.equal((result.stdout, len(result.stderr.splitlines())), ("", 1), f"{arguments}: one line, no output: {result.stderr}")
    return result.stderr


@tap.test("export writes one file per recording in a folder, and never merges several into one")
def _(folder):
    run = make(folder, *NAMES)
    for kind, extension in (("snapshot", "pickle"), ("events-json", "json"), ("perfetto", "pftrace"), ("folded", "folded")):
        out = os.path.join(folder, kind) + "/"
        result = stormlog("export", run, "--to", kind, "-o", out)
        expected = [f"{out}{name}.{extension}" for name in NAMES]
        tap.equal(result.stdout.splitlines(), expected, "paths told")
        for path, name in zip(expected, NAMES):
            stormlog("export", f"{run}/{name}.slog", "--to", kind, "-o", f"{folder}/alone")
            tap.equal(open(path, "rb").read().replace(run.encode(), b""), open(f"{folder}/alone", "rb").read().replace(run.encode(), b""),
                      f"{kind} of {name} is that of the recording alone")
    file = os.path.join(folder, "one.pickle")
    for output in ([], ["-o", file]):
        text = refused("export", run, "--to", "folded", *output)
        tap.contains(text, f"'{run}' contains 2 recordings, but 'folded' can hold only one; give a folder with -o (")
    tap.equal(os.path.exists(file), False, "a file was written")


@tap.test("export: a folder with one recording needs no output folder")
def _(folder):
    run = make(folder, "closed")
    alone = stormlog("export", f"{run}/closed.slog", "--to", "folded").stdout
    tap.equal(stormlog("export", run, "--to", "folded").stdout, alone, "on standard output")
    tap.true(alone != "", "something was written")


@tap.test("cat lists the recordings of a folder instead of choosing one")
def _(folder):
    run = make(folder, *NAMES)
    expected = f"'{run}' contains 2 recordings; give one of them: closed.slog, wrapped.slog"
    tap.contains(refused("cat", run), expected)
    single = make(os.path.join(folder, "second"), "closed")
    tap.equal(stormlog("cat", single).stdout, stormlog("cat", f"{single}/closed.slog").stdout, "cat of one")
    stormlog("diff", single, f"{run}/wrapped.slog")


@tap.test("fsck checks every recording; the exit code is that of the worst one")
def _(folder):
    run = make(folder, *NAMES)
    tap.equal(stormlog("fsck", run).stdout.count("no damage found"), 2, "reports")
    rows = json.loads(stormlog("fsck", "--format", "json", run).stdout)
    tap.equal([os.path.basename(row["path"]) for row in rows], ["closed.slog", "wrapped.slog"], "array")
    tap.equal(json.loads(stormlog("fsck", "--format", "json", f"{run}/closed.slog").stdout)["problems"], [], "a file alone")
    with open(f"{run}/closed.slog", "r+b") as file:
        file.truncate(5000)
    result = stormlog("fsck", run, code=3)
    tap.contains(result.stderr, "closed.slog")
    tap.contains(result.stdout, "no damage found", "the other one is checked all the same")


@tap.test("plot compares the recordings of a folder; a kind of picture that shows one input refuses several")
def _(folder):
    run = make(folder, *NAMES)
    probe = tap.run([STORMLOG, "plot", f"{run}/closed.slog", "-o", f"{folder}/one.svg"], env=ENV)
    if probe.returncode == 4:
        tap.skip("this build draws no pictures")
    stormlog("plot", run, "-o", f"{folder}/all.svg")
    tap.true(os.path.getsize(f"{folder}/all.svg") > 1000, "a picture")
    tap.contains(refused("plot", run, "--kind", "flame", "-o", f"{folder}/x.svg"), "shows one input, found 2")


def curve_starts(svg):
    """The left end of each curve of a picture of several inputs."""
    with open(svg) as file:
        lines = [line for line in file if re.search(r"stroke-width(:|=\")1\.6\b", line)]
    return sorted(float(re.search(r' d="M ([-0-9.]+) ', line)[1]) for line in lines)


@tap.test("plot: processes of one run, and inputs of the same time, share one time axis; others start at the left edge")
def _(folder):
    run = make_ranks(folder, "a", 0)
    probe = tap.run([STORMLOG, "plot", run, "-o", f"{folder}/run.svg"], env=ENV)
    if probe.returncode == 4:
        tap.skip("this build draws no pictures")
    tap.equal(probe.returncode, 0, probe.stderr)
    starts = curve_starts(f"{folder}/run.svg")
    tap.equal(len(starts), 2, "curves")
    tap.true(starts[1] - starts[0] > 100, f"the child began a second after its parent: {starts}")
    os.makedirs(f"{folder}/b")
    child = os.path.join(folder, "b", "child.slog")
    shutil.move(f"{run}/rank0-python3-110.slog", child)
    set_process(child, 110, 10, 0, 0.5)
    stormlog("plot", f"{run}/rank0-python3-10.slog", child, "-o", f"{folder}/two.svg")
    starts = curve_starts(f"{folder}/two.svg")
    tap.true(starts[1] - starts[0] > 100, f"inputs of two folders that ran at the same time: {starts}")
    set_process(child, 110, 10, 0, 1_000_000)
    stormlog("plot", f"{run}/rank0-python3-10.slog", child, "-o", f"{folder}/later.svg")
    starts = curve_starts(f"{folder}/later.svg")
    tap.equal(starts[0], starts[1], "inputs of two folders, of which one ran days later")


@tap.test("top shows each process of a run with the role that analyze reports")
def _(folder):
    run = make_ranks(folder, "a", 0, 1)
    shutil.copy(os.path.join(V1, "closed.slog"), f"{run}/start.slog")
    set_process(f"{run}/start.slog", 1, start_s=-1, command="torchrun")
    shown = json.loads(stormlog("top", "--format", "json", run).stdout)
    known = json.loads(stormlog("analyze", "--format", "json", run).stdout)["inputs"]
    tap.equal({row["path"]: (row["role"], row["pid"], row["parent_pid"]) for row in shown},
              {row["path"]: tuple(row["process"][key] for key in ("role", "pid", "parent_pid")) for row in known}, "roles")
    tap.equal([row["role"] for row in shown], ["rank", "child", "rank", "child", "main"], "roles")
    text = stormlog("top", "--once", run).stdout
    for words in ("rank 0, process 10", "child process 110 of rank 0", "rank 1, process 11", "child process 111 of rank 1",
                  "main process 1"):
        tap.contains(text, f"\n  {words}, ")


def page_lanes(folder, *inputs):
    """What a page of device 0 holds of each of its lanes, apart from the curves."""
    stormlog("report", *inputs, "--device", "0", "-o", f"{folder}/page.html")
    with open(f"{folder}/page.html") as file:
        return json.loads(re.search(r'id="meta">(.*?)</script>', file.read(), re.DOTALL)[1])["lanes"]


@tap.test("report: lanes of one run start when the run starts, lanes of unrelated inputs at their own first event")
def _(folder):
    run = make_ranks(folder, "a", 0)
    parent, child = page_lanes(folder, run)
    tap.equal(child["first_us"], parent["first_us"], "one clock")
    tap.equal((parent["start_us"], child["start_us"]), (0, 1_000_000), "the child began a second after its parent")
    tap.equal(child["peak_time_us"] - parent["peak_time_us"], 1_000_000, "all times of the child count from the start of the run")
    os.makedirs(f"{folder}/b")
    moved = os.path.join(folder, "b", "child.slog")
    shutil.move(f"{run}/rank0-python3-110.slog", moved)
    alone, other = page_lanes(folder, f"{run}/rank0-python3-10.slog", moved)
    tap.equal((alone["start_us"], other["start_us"]), (0, 0), "inputs of two folders")
    tap.equal(other["peak_time_us"], alone["peak_time_us"], "inputs of two folders")
    tap.equal(child["last_us"] - child["first_us"] - child["start_us"], other["last_us"] - other["first_us"], "how long the child lasted")


@tap.test("analyze, check and report read every recording of a folder")
def _(folder):
    run = make(folder, *NAMES)
    report = json.loads(stormlog("analyze", "--format", "json", run).stdout)
    tap.equal([os.path.basename(row["path"]) for row in report["inputs"]], ["closed.slog", "wrapped.slog"], "inputs")
    stormlog("check", run, "--max-peak", "1TiB")
    stormlog("report", run, "-o", f"{folder}/page.html")


@tap.test("a compressed recording in a folder is read, but ignored as a copy if the uncompressed file is there too")
def _(folder):
    run = make(folder, *NAMES)
    plain = json.loads(stormlog("fsck", run, "--format", "json").stdout)
    for name in NAMES:
        with open(f"{run}/{name}.slog", "rb") as file, lzma.open(f"{run}/{name}.slog.xz", "wb") as to:
            to.write(file.read())
    tap.equal(json.loads(stormlog("fsck", run, "--format", "json").stdout), plain, "beside the plain ones")
    for name in NAMES:
        os.unlink(f"{run}/{name}.slog")
    alone = json.loads(stormlog("fsck", run, "--format", "json").stdout)
    for report in plain + alone:
        report["path"] = report["path"].removesuffix(".xz")
    tap.equal(alone, plain, "alone")
    stormlog("analyze", run)


@tap.test("diff compares the main processes, and each rank with the same rank")
def _(folder):
    a, b = make_ranks(folder, "a", 0, 1, 2), make_ranks(folder, "b", 2, 1, 5)
    done = stormlog("diff", a, b, "--format", "json")
    tap.equal({row["pair"] for row in json.loads(done.stdout)["diffs"]}, {"rank 1", "rank 2"}, "pairs")
    for row in json.loads(done.stdout)["diffs"]:
        tap.equal(os.path.basename(row["before"]["path"]), os.path.basename(row["after"]["path"]), "the same rank of both")
    for line in (f"rank 0 is only in '{a}'", f"rank 5 is only in '{b}'", f"'{a}': skipped 3 child processes"):
        tap.contains(done.stderr, line)
    tap.contains(stormlog("diff", a, b).stdout, "(rank 1, ")
    tap.contains(stormlog("diff", a, b, "--format", "md").stdout, "(rank 1, ")
    c = make_ranks(folder, "c", 7)
    text = stormlog("diff", a, c, code=2).stderr
    tap.contains(text, "the two inputs have no rank, script or file name in common")
    # Two runs of one rank each are compared even if the rank numbers differ.
    stormlog("diff", c, make_ranks(folder, "d", 8))


@tap.test("diff uses the last recording of a restarted rank, and refuses two runs of a script as ambiguous")
def _(folder):
    a, b = make_ranks(folder, "a", 0, 1), make_ranks(folder, "b", 0, 1)
    shutil.copy(os.path.join(V1, "closed.slog"), f"{a}/again.slog")
    set_process(f"{a}/again.slog", 900, 1, 1, 60)
    done = stormlog("diff", a, b, "--format", "json")
    tap.contains(done.stderr, f"skipped '{a}/rank1-python3-11.slog': there is a later recording of rank 1")
    tap.true(any(row["before"]["path"] == f"{a}/again.slog" for row in json.loads(done.stdout)["diffs"]), "the newest")
    scripts = os.path.join(folder, "scripts")
    os.makedirs(scripts)
    for number, script in enumerate(["prepare.py", "train.py"]):
        shutil.copy(os.path.join(V1, "closed.slog"), f"{scripts}/{number}.slog")
        set_process(f"{scripts}/{number}.slog", 10 + number, 1, command=f"python3 {script}")
    pairs = json.loads(stormlog("diff", scripts, f"{scripts}@peak", "--format", "json").stdout)["diffs"]
    tap.equal({row["pair"] for row in pairs}, {"prepare.py", "train.py"}, "by script")
    set_process(f"{scripts}/0.slog", 10, 1, command="python3 train.py")
    tap.contains(refused("diff", scripts, f"{scripts}@peak"), f"'{scripts}' contains several recordings of 'train.py'")


@tap.test("check reads the ranks or the main process, and refuses a folder with a damaged file")
def _(folder):
    run = make_ranks(folder, "a", 0, 1)
    done = stormlog("check", run, "--max-peak", "1TiB")
    tap.contains(done.stderr, f"'{run}': skipped 2 child processes")
    with open(f"{run}/rank1-python3-11.slog", "r+b") as file:
        file.truncate(5000)
    tap.contains(stormlog("check", run, code=3).stderr, "rank1-python3-11.slog")
    done = stormlog("analyze", "--format", "json", run)
    tap.equal(len(json.loads(done.stdout)["inputs"]), 3, "what can be read")
    tap.contains(done.stderr, "rank1-python3-11.slog")
    tap.contains(done.stderr, "stormlog: skipped: ")
    for name in os.listdir(run):
        os.truncate(os.path.join(run, name), 5000)
    done = stormlog("analyze", run, code=3)
    tap.equal(len(done.stderr.splitlines()), 4, f"each damaged file once: {done.stderr}")


@tap.test("without a PATH, commands read the latest run and print which one it is")
def _(folder):
    commands = {"analyze": [], "check": ["--max-peak", "1TiB"], "report": ["-o", "page.html"], "top": ["--once"],
                "export": ["--to", "folded"]}
    for command, options in commands.items():
        text = refused(command, *options, cwd=folder)
        tap.contains(text, "no PATH given, and there is no latest run in 'stormlog-runs'; give a PATH")
    runs = os.path.join(folder, "stormlog-runs")
    shutil.move(make(folder, "closed"), os.path.join(runs, "20261115T120000Z-train"))
    os.symlink("gone", os.path.join(runs, "latest"))
    refused("analyze", cwd=folder)
    os.remove(os.path.join(runs, "latest"))
    os.symlink("20261115T120000Z-train", os.path.join(runs, "latest"))
    for command, options in commands.items():
        done = stormlog(command, *options, cwd=folder)
        tap.contains(done.stderr, "no PATH given: the latest run, stormlog-runs/20261115T120000Z-train\n")
    report = json.loads(stormlog("analyze", "--format", "json", cwd=folder).stdout)
    tap.equal([row["path"] for row in report["inputs"]], ["stormlog-runs/20261115T120000Z-train/closed.slog"], "inputs")


@tap.test("a folder without inputs gives a one-line error")
def _(folder):
    for command in ("cat", "fsck"):
        result = stormlog(command, folder, code=3)
        tap.contains(result.stderr, f"cannot read '{folder}': it is a folder without recordings (*.slog); give a file")
    for content in (None, "hello"):
        if content:
            with open(os.path.join(folder, "notes.txt"), "w") as file:
                file.write(content)
        for command in ("analyze", "check", "report", "export"):
            done = stormlog(command, folder, code=3)
            tap.equal(done.stderr, f"stormlog: cannot read '{folder}': it is a folder without a recording (*.slog), snapshot, "
                      "telemetry file or bundle\n", "one line")


@tap.test("a folder of snapshots, telemetry and bundles: every readable file is named, the others are in one note")
def _(folder):
    tap.needs("gzip")
    for name in ("s1_loss_history.pickle.gz", "s5_oom.pickle.gz"):
        shutil.copy(os.path.join(V1, "..", "..", "data", "h200", name), folder)
    with open(os.path.join(folder, "samples.csv"), "w") as file:
        file.write(stormlog("export", f"{V1}/closed.slog", "--to", "telemetry-csv").stdout)
    os.makedirs(os.path.join(folder, "child"))
    for name, content in (("readme.md", "# notes"), ("settings.json", '{"a": 1}'), ("empty", "")):
        with open(os.path.join(folder, name), "w") as file:
            file.write(content)
    os.mkfifo(os.path.join(folder, "pipe.json"))
    done = stormlog("analyze", "--format", "json", folder)
    tap.equal([os.path.basename(row["path"]) for row in json.loads(done.stdout)["inputs"]],
              ["s1_loss_history.pickle.gz", "s5_oom.pickle.gz", "samples.csv"], "inputs")
    tap.equal(len(done.stderr.splitlines()), 1, done.stderr)
    for name in ("child", "empty", "pipe.json", "readme.md", "settings.json"):
        tap.contains(done.stderr, name)
    with open(os.path.join(folder, "cut.pickle"), "wb") as file:
        file.write(b"\x80\x04\x95")
    done = stormlog("analyze", folder)
    tap.contains(done.stderr, "cut.pickle")
    tap.equal(stormlog("check", folder, "--max-peak", "1TiB", code=3).stdout, "", "check wants every file")


@tap.test("folders written by diagnose and files written by tfmemprof monitor can be read")
def _(folder):
    stormlog("diagnose", "--duration", "300ms", "--interval", "100ms", "-o", "facts", cwd=folder)
    done = stormlog("analyze", "--format", "json", "facts", cwd=folder)
    row, = json.loads(done.stdout)["inputs"]
    tap.equal((row["path"], row["kind"], done.stderr), ("facts/telemetry_timeline.json", "telemetry", ""), "a diagnose folder")
    tap.true(row["events"] >= 2, f"readings: {row}")
    tap.contains(row["notes"][0], "does not name a device")
    tf = os.path.join(os.path.dirname(STORMLOG), "tfmemprof")
    done = tap.run([tf, "monitor", "--duration", "0.3", "--interval", "0.1", "--output", "usage.json", "--pid", str(os.getpid())],
                   env=ENV, cwd=folder)
    tap.equal(done.returncode, 0, done.stderr)
    usage = json.load(open(os.path.join(folder, "usage.json")))
    report = json.loads(stormlog("analyze", "--format", "json", "usage.json", cwd=folder).stdout)
    tap.equal(report["inputs"][0]["events"], len(usage["memory_usage"]), "readings")
    tap.equal(report["devices"][0]["live_requested_bytes"], int(usage["memory_usage"][-1] * 1048576), "the last one, in bytes")
    # The folder that contains both, and one of our reports, which is not an input.
    stormlog("analyze", "--format", "json", "-o", "report.json", "usage.json", cwd=folder)
    done = stormlog("check", ".", "--max-peak", "1TiB", cwd=folder)
    tap.contains(done.stderr, "report.json")
    tap.equal(len(done.stderr.splitlines()), 1, done.stderr)


@tap.test("a bad series of readings is refused, with its name and position")
def _(folder):
    path = os.path.join(folder, "x.json")
    for text, reason in [('{"timestamps": [1, 2], "allocated": [1]}', "'allocated' has 1 values but 'timestamps' has 2"),
                         ('{"timestamps": [1, "x"], "allocated": [1, 2]}', "'timestamps' at byte 19: expected a number, found "),
                         ('{"timestamps": [1], "allocated": [-1]}', "'allocated' at byte 34: expected 0 to "),
                         ('{"timestamps": [1e300], "allocated": [1]}', "'timestamps' at byte 16: expected 0 to "),
                         ('{"timestamps": 5, "allocated": [1]}', "'timestamps' at byte 15: expected an array"),
                         ('{"timestamps": [1], "timestamps": [1], "allocated": [1]}', "it occurs twice"),
                         ('{"timestamps": [1], "other": [1]}', "expected 'timestamps' with 'allocated' or 'memory_usage'"),
                         ('{"timestamps": [1, 2', "x.json'")]:
        with open(path, "w") as file:
            file.write(text)
        done = stormlog("analyze", path, code=3)
        tap.contains(done.stderr, reason)
        tap.equal((done.stdout, len(done.stderr.splitlines())), ("", 1), text)
    with open(path, "w") as file:  # diagnose --duration 0s
        file.write('{"timestamps": [], "allocated": [], "reserved": []}')
    stormlog("analyze", path)


tap.main()
