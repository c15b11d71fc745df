# SPDX-License-Identifier: MIT
"""stormlog.record and what belongs to it, on PyTorch's CPU allocator. Each case is a process of its own."""

import os
import pickle
import sys
from pathlib import Path

import stormlog
import tap
from other_user import AS_NOBODY, need_other_user

PYTHON = tap.python_with("torch") if os.path.exists("/usr/bin/python3") else sys.executable
DATA = Path(os.environ["STORMLOG_TEST_DATA"])

BEGIN = """
import json, os, pickle, sys
import stormlog
folder = {folder!r}
os.chdir(folder)
"""

WORK = """
import torch
kept = []
def work(count=4):
    for _ in range(count):
        kept.append(torch.zeros(256, 1024))
        stormlog.step()
"""


def script(folder, code, **env):
    """Runs the code; its last line of output."""
    result = tap.run([PYTHON, "-c", BEGIN.format(folder=folder) + code], env={**os.environ, **env})
    tap.equal(result.returncode, 0, result.stdout + result.stderr)
    return result.stdout.strip().splitlines()[-1] if result.stdout.strip() else ""


@tap.test("a variable that cannot be read is named by record()")
def _(folder):
    text = script(folder, """
try:
    stormlog.record().start()
except ValueError as problem:
    print(problem)
""", STORMLOG_STACKS="foo")
    tap.contains(text, "the recorder refuses one of these variables: ")
    tap.contains(text, "STORMLOG_STACKS=foo")


@tap.test("record() records steps and lines, and the file is closed and readable afterwards")
def _(folder):
    out = script(folder, """
recording = stormlog.record(dir=folder, cpu=True)
""" + WORK + """
work()
assert recording.is_on and stormlog.health()["is_on"]
stormlog.mark("here")
path = recording.path
recording.stop()
recording.stop()
assert not recording.is_on and recording.path == path
report = stormlog.analyze(path)
print(json.dumps([report["inputs"][0]["kind"], report["devices"][0]["live_requested_bytes"],
                  report["devices"][0]["top_live"][0]["site"]["function"], stormlog._read.log_health(path)["ending"]]))
""")
    kind, live, function, ending = __import__("json").loads(out)
    tap.equal((kind, function, ending), ("slog", "work", "closed"), "report")
    tap.true(live >= 4 * 1024 * 1024, f"four megabytes are live: {live}")


@tap.test("without a folder given, record() makes a run folder, which `latest`, analyze() and the commands find")
def _(folder):
    script(folder, """
recording = stormlog.record(cpu=True)
assert "no memory event yet" in repr(recording), repr(recording)
""" + WORK + """
work()
assert recording.path in repr(recording) and " on, " in repr(recording), repr(recording)
recording.stop()
assert "stopped, " in repr(recording), repr(recording)
assert "<pre>" in recording._repr_html_() and "4.00 MiB" in recording._repr_html_()
runs = sorted(set(os.listdir("stormlog-runs")) - {"latest"})
assert len(runs) == 1 and os.readlink("stormlog-runs/latest") == runs[0], runs
whole = stormlog.analyze(recording.path)["devices"]
for paths in ((), ("stormlog-runs/latest",), (os.path.abspath("stormlog-runs/" + runs[0]),)):
    assert stormlog.analyze(*paths)["devices"] == whole, paths
stormlog.export("stormlog-runs/latest", "folded", "f.txt")
assert "work" in open("f.txt").read()
""")
    program = Path(os.environ["STORMLOG_BUILD"]) / "stormlog"
    tap.contains(tap.run([str(program), "top", "--once"], cwd=folder, check=True).stdout, "Host memory")


@tap.test("a recording without memory events leaves no folder")
def _(folder):
    script(folder, "recording = stormlog.record(cpu=True)")
    tap.equal(os.listdir(folder), [], "files left behind")


@tap.test("ranks of one launcher record into one run folder")
def _(folder):
    for rank in range(2):
        script(folder, "stormlog.record(cpu=True)\n" + WORK + "work()", RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2")
    runs = sorted(set(os.listdir(os.path.join(folder, "stormlog-runs"))) - {"latest"})
    tap.equal(len(runs), 1, f"run folders: {runs}")
    tap.equal(len(stormlog.analyze(os.path.join(folder, "stormlog-runs", "latest"))["inputs"]), 2, "recordings")


for _name, _code in {
    "caught, torch imported later": "try:\n    torch.empty(1 << 50)\nexcept RuntimeError:\n    pass\n",
    "uncaught": "torch.empty(1 << 50)\n",
}.items():

    @tap.test(f"a failed request on the CPU leaves a snapshot: {_name}")
    def _(folder, code=_code):
        result = tap.run([PYTHON, "-c", BEGIN.format(folder=folder) + "stormlog.record(cpu=True)\n" + WORK + "work()\n" + code])
        tap.contains(result.stderr, "out of memory; the snapshot is oom_snapshot.pickle")
        with open(os.path.join(folder, "oom_snapshot.pickle"), "rb") as file:
            tap.true("segments" in pickle.load(file), "a snapshot")


@tap.test("a with block records, phases can be nested, and an error ends the recording")
def _(folder):
    script(folder, WORK + """
try:
    with stormlog.record(dir=folder, cpu=True) as recording:
        with stormlog.phase("forward"):
            work(1)
        raise KeyError("x")
except KeyError:
    pass
assert not stormlog.health()["is_on"]
assert stormlog.analyze(recording.path)["devices"]
""")


@tap.test("recording does not load the module that reads files")
def _(folder):
    script(folder, WORK + """
from stormlog import metrics
with stormlog.record(dir=folder, cpu=True):
    with stormlog.phase("p"):
        work(1)
metrics.DeviceMemoryMonitor().report(1)
assert "stormlog._read" not in sys.modules
""")


@tap.test("a schedule records from one step to another and writes the snapshot")
def _(folder):
    script(folder, WORK + """
recording = stormlog.record(steps=(2, 5), dir=folder, cpu=True, snapshot="s.pickle")
states = []
for number in range(8):
    kept.append(torch.zeros(64, 1024))
    stormlog.step(number)
    states.append(stormlog.health()["is_on"])
assert states == [False, False, True, True, True, False, False, False], states
with open("s.pickle", "rb") as file:
    snapshot = pickle.load(file)
assert sum(len(trace) for trace in snapshot["device_traces"]) >= 3
assert recording.snapshot_path == "s.pickle"
""")
    tap.equal(stormlog.analyze(Path(folder) / "s.pickle")["inputs"][0]["kind"], "torch-snapshot", "it reads back")


@tap.test("snapshots have the rank in their names, and running out of memory leaves one")
def _(folder):
    script(folder, WORK + """
with stormlog.record(dir=folder, cpu=True) as recording:
    work(1)
    assert stormlog.snapshot("a.pickle") == "a_rank1.pickle"
    assert stormlog.snapshot("b_{rank}.pickle") == "b_1.pickle"
try:
    with stormlog.record(dir=folder, cpu=True, oom_snapshot="oom.pickle") as recording:
        work(1)
        torch.empty(1 << 60)
except RuntimeError as error:
    assert "allocate" in str(error), error
print(recording.oom_snapshot_path)
assert sorted(name for name in os.listdir(".") if name.endswith("pickle")) == [
    "a_rank1.pickle", "b_1.pickle", "oom_rank1.pickle"], os.listdir(".")
""", RANK="1", WORLD_SIZE="2")


@tap.test("every failed request leaves a bundle, even if the error is caught")
def _(folder):
    script(folder, WORK + """
with stormlog.record(dir=folder, cpu=True, oom_snapshot=None) as recording:
    work(2)
    for attempt in range(2):
        try:
            torch.empty(1 << 45)
        except RuntimeError:
            kept.clear()
    assert recording.oom_bundles == [], "nothing is read while the program goes on"
assert recording.oom_bundles == [recording.path + ".oom-1", recording.path + ".oom-2"], recording.oom_bundles
for path, held in zip(recording.oom_bundles, (2 << 20, 0)):
    report = stormlog.analyze(path)
    assert (report["inputs"][0]["kind"], report["verdict"]) == ("oom-bundle", "oom"), report
    assert report["oom"]["requested_bytes"] == 4 << 45 and report["oom"]["count"] <= 2, report["oom"]
    assert report["oom"]["allocated_bytes"] == held, report["oom"]
""")


@tap.test("a program that ends without stop() leaves its bundle, too")
def _(folder):
    script(folder, WORK + """
recording = stormlog.record(dir=folder, cpu=True, oom_snapshot=None)
work(1)
try:
    torch.empty(1 << 45)
except RuntimeError:
    pass
""")
    name, = [name for name in os.listdir(folder) if name.endswith(".oom-1")]
    tap.equal(stormlog.analyze(Path(folder) / name)["oom"]["allocated_bytes"], 1 << 20, "held at the failure")


@tap.test("an uncaught failure leaves its bundle before the recording ends")
def _(folder):
    script(folder, WORK + """
try:
    with stormlog.record(dir=folder, cpu=True, oom_snapshot=None) as recording:
        torch.empty(1 << 60)
except RuntimeError as error:
    assert "allocate" in str(error), error
assert len(recording.oom_bundles) == 1, recording.oom_bundles
""")


@tap.test("diff compares the states before and after")
def _(folder):
    out = script(folder, WORK + """
with stormlog.record(dir=folder, cpu=True):
    work(1)
    stormlog.snapshot("before.pickle")
    work(3)
    stormlog.snapshot("after.pickle")
found = stormlog.diff("before.pickle", "after.pickle")["diffs"][0]
print(found["after"]["live_requested_bytes"] - found["before"]["live_requested_bytes"])
""")
    tap.equal(int(out), 3 * 1024 * 1024, "growth")


@tap.test("without a recording a snapshot is refused with a message; wrong options are refused")
def _(folder):
    script(folder, """
for call, kind, part in ((lambda: stormlog.snapshot("x.pickle"), RuntimeError, "stormlog.record()"),
                         (lambda: stormlog.record(stacks="c"), ValueError, "stacks"),
                         (lambda: stormlog.record(max_entries=0), ValueError, "max_entries"),
                         (lambda: stormlog.record(steps=(5, 5)), ValueError, "steps")):
    try:
        call()
    except kind as error:
        assert part in str(error), error
    else:
        raise SystemExit(part)
stormlog.step(); stormlog.mark("x")
assert os.listdir(".") == []
""")


@tap.test("STORMLOG_DISABLE records nothing and breaks nothing")
def _(folder):
    script(folder, WORK + """
with stormlog.record(dir=folder, cpu=True) as recording:
    work(1)
assert os.listdir(".") == [], os.listdir(".")
assert "disabled" in repr(recording), repr(recording)
try:
    stormlog.snapshot("s.pickle")
    raise SystemExit("a snapshot of nothing")
except RuntimeError as error:
    assert "recording is disabled" in str(error), error
""", STORMLOG_DISABLE="1")


@tap.test("when the folder cannot be created, the error names the folder, not a file in it")
def _(folder):
    need_other_user()
    os.chmod(folder, 0o755)
    result = tap.run([*AS_NOBODY, PYTHON, "-c", BEGIN.format(folder=folder) + WORK + """
with stormlog.record(dir=folder + "/runs", cpu=True):
    work(1)
"""], env=os.environ)
    tap.contains(result.stderr, f"cannot create the folder '{folder}/runs': Permission denied")


@tap.test("under `stormlog run` the same calls apply to that recording")
def _(folder):
    program = Path(os.environ["STORMLOG_BUILD"]) / "stormlog"
    code = BEGIN.format(folder=folder) + WORK + """
with stormlog.record(dir=os.path.join(folder, "other")) as recording:
    work(2)
    assert stormlog.health()["path"].startswith(os.path.join(folder, "run")), stormlog.health()
assert stormlog.health()["is_on"], "the block ended, the run goes on"
"""
    result = tap.run([program, "run", "-o", os.path.join(folder, "run"), "--", PYTHON, "-c", code],
                     env={**os.environ, "STORMLOG_CPU": "1"})
    tap.equal(result.returncode, 0, result.stdout + result.stderr)
    tap.equal(os.path.exists(os.path.join(folder, "other")), False, "one recording")


@tap.test("analyze, diff and export work on recorded snapshots, and errors name the file and their kind")
def _(folder):
    report = stormlog.analyze(DATA / "h200" / "s1_loss_history.pickle.gz", top=3)
    tap.equal((report["schema"], report["verdict"]), ("stormlog.report/1", "leak"), "report")
    tap.true(len(report["devices"][0]["top_live"]) <= 3, "top")
    out = Path(folder) / "again.pickle"
    stormlog.export(DATA / "h200" / "s1_loss_history.pickle.gz", "snapshot", out)
    with open(out, "rb") as file:
        tap.true("segments" in pickle.load(file), "a pickle that Python reads")
    tap.contains(stormlog.reports.analyze_text(out), "loss_history", "text")
    junk = Path(folder) / "junk"
    junk.write_text("nothing of ours")
    for call, kind, part in ((lambda: stormlog.analyze(junk), stormlog.FormatError, "junk"),
                             (lambda: stormlog.analyze(Path(folder) / "none"), FileNotFoundError, "none"),
                             (lambda: stormlog.export(out, "mp3", junk), stormlog.UsageError, "mp3"),
                             (lambda: stormlog.analyze(out, device=9), stormlog.DeviceError, "9")):
        try:
            call()
        except kind as error:
            tap.contains(str(error), part)
            tap.true(isinstance(error, stormlog.StormlogError), "one base class")
        else:
            raise AssertionError(f"expected {kind.__name__}")


tap.main()
