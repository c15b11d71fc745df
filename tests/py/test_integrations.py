# SPDX-License-Identifier: MIT
"""stormlog.integrations with Debian's packages: torch 1.13, pytest and IPython. The other frameworks are `make check-frameworks`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import stormlog
import tap

BUILD = Path(os.environ["STORMLOG_BUILD"])
FOLDER = Path(os.environ["STORMLOG_SOURCE"]) / "python" / "stormlog" / "integrations"
MIB = 1 << 20


def need(*modules):
    tap.skip_if_sanitized(str(BUILD / "stormlog"))
    python = os.environ.get("STORMLOG_TEST_PYTHON") or tap.python_with("torch")
    for module in modules:
        if tap.run([python, "-c", f"import {module}"]).returncode:
            tap.skip(f"{python} has no {module}")
    return python


def script(folder, code, *modules, code_expected=0, **env):
    result = tap.run([need(*modules), "-c", code], cwd=folder, env={**os.environ, **env})
    tap.equal(result.returncode, code_expected, result.stdout + result.stderr)
    return result


@tap.test("every integration is short, and importing the package imports no framework")
def _():
    for path in sorted(FOLDER.glob("*.py")):
        count = len(path.read_text().splitlines())
        tap.true(count < 150, f"{path.name} has fewer than 150 lines, found {count}")
    loaded = tap.run([sys.executable, "-c", """
import sys
import stormlog, stormlog.integrations
stormlog.integrations, stormlog.page, stormlog.check
names = ("torch", "lightning", "transformers", "pytest", "IPython", "stormlog.integrations.lightning")
print([name for name in names if name in sys.modules])
"""])
    tap.equal(loaded.stdout.strip(), "[]", loaded.stderr)


# --- a session, which every callback uses ------------------------------------------------------------------------------

TRAIN = """
import json, logging, os, sys, torch
import stormlog
from stormlog.integrations._session import Session
kept = []
def train(session, steps=20, fail_at=None):
    net = torch.nn.Linear(64, 64)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for number in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = net(torch.ones(64, 64)).sum()
        loss.backward()
        optimizer.step()
        kept.append(torch.ones(256, 1024))
        session.step()
        if number == fail_at:
            raise KeyError("made to fail")
"""


@tap.test("a session counts its own steps only, names phases, writes the page, calls the sinks and prints the verdict")
def _(folder):
    result = script(folder, TRAIN + """
seen = []
session = Session(dir="runs", cpu=True, page=True, sinks=[seen.append, lambda evidence: 1 / 0])
session.start()
session.begin("train")
train(session)
session.end("train")
evidence = session.finish()
assert seen == [evidence] and session.finish() is evidence and not session.is_running
curve = [(step, figures["host/live_requested_bytes"]) for step, _, figures in evidence.curves()]
print(json.dumps([evidence.verdict, curve, evidence.peaks, evidence.ledger(), os.path.getsize(evidence.path + ".html") > 10000,
                  evidence._repr_html_(), stormlog.check(evidence.path, no_leak=True), repr(evidence)]))
""")
    tap.contains(result.stderr, "leaks 1.00 MiB per step")
    tap.contains(result.stderr, "sink 2 failed: ZeroDivisionError: division by zero")
    verdict, curve, peaks, ledger, has_page, html, check, text = json.loads(result.stdout)
    tap.equal((verdict, [step for step, _ in curve], ledger, has_page), ("leak", list(range(20)), [], True), "evidence")
    tap.equal({later - earlier for (_, earlier), (_, later) in zip(curve[1:], curve[2:])}, {MIB}, "growth of each step")
    tap.true(peaks["host"] >= 20 * MIB, f"peak {peaks}")
    tap.contains(html, "20.0 MiB")
    tap.contains(html, "in train")
    tap.contains(text, "1.00 MiB per step")
    tap.equal((check["passed"], check["gates"][0]["name"]), (False, "no-leak"), "check")


@tap.test("a session that fails writes a snapshot, the report and the page; so does a program that exits inside it")
def _(folder):
    for name, code in (("told", "try:\n    train(session, fail_at=12)\nexcept KeyError as error:\n    session.fail(error)\n"),
                       ("not told", "train(session, fail_at=12)\n")):
        place = os.path.join(folder, name.replace(" ", "-"))
        os.mkdir(place)
        result = script(place, TRAIN + "session = Session(dir='runs', cpu=True)\nsession.start()\n" + code,
                        code_expected=0 if name == "told" else 1)
        tap.contains(result.stderr, "evidence: ", name)
        failure = next(Path(place).glob("runs/*.failure"))
        tap.equal(sorted(path.name for path in failure.iterdir()), ["report.html", "report.json", "report.txt", "snapshot.pickle"], name)
        tap.equal(json.loads((failure / "report.json").read_text())["verdict"], "leak", name)
        tap.true(stormlog.analyze(failure / "snapshot.pickle")["devices"], name)
        tap.equal(failure.stat().st_mode & 0o777, 0o700, "for its owner only")


@tap.test("under `stormlog run` a session uses that recording, prints nothing of its own, and marks are in the file")
def _(folder):
    python = need()
    code = TRAIN + "session = Session()\nsession.start()\nsession.begin('training')\ntrain(session)\nsession.mark('here')\n" \
        "print(session.finish().path)\n"
    program = BUILD / "stormlog"
    result = tap.run([str(program), "run", "-o", "out", "--", python, "-c", code], cwd=folder)
    tap.equal(result.returncode, 0, result.stderr)
    path = result.stdout.strip()
    tap.equal(os.path.dirname(os.path.abspath(os.path.join(folder, path))), os.path.join(folder, "out"), "the recording")
    tap.equal(result.stderr.count("leaks 1.00 MiB per step"), 1, "one verdict")
    stormlog.export(os.path.join(folder, path), "perfetto", os.path.join(folder, "p"))
    marks = Path(folder, "p").read_bytes()
    tap.true(b"training" in marks and b"here" in marks, "marks in the recording")


@tap.test("a session never raises: wrong options, a folder that cannot be, a full disk, nonsense, called twice")
def _(folder):
    result = script(folder, TRAIN + """
class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")
found = []
for place in (3, "/dev/null/no-folder", "runs"):
    session = Session(dir=place, cpu=True, page=True, sinks=[lambda evidence: 1 / 0])
    for _ in range(2):
        session.start()
        session.begin("phase")
    train(session, 4)
    session.step(-1)
    session.step("seven")
    session.mark(None)
    path = stormlog.health()["path"]
    if path:
        os.mkdir(path + ".html")                # the page cannot be written
        open(path + ".failure", "w").close()    # nor can the evidence
    found += [session.fail(Unprintable()) for _ in range(2)]
print(json.dumps([evidence and os.path.relpath(os.path.dirname(evidence.path)) for evidence in found]))
""")
    tap.equal(json.loads(result.stdout), [None] * 4 + ["runs"] * 2, "what was recorded")
    for text in ("recording failed: TypeError", "not recording: cannot create the folder '/dev/null/no-folder'", "a mark failed: TypeError",
                 "the page failed: ", "the evidence failed: FileExistsError", "sink 1 failed: ZeroDivisionError",
                 "a mark failed: TypeError"):
        tap.contains(result.stderr, text)
    tap.equal(result.stderr.count("a step failed: OverflowError"), 1, result.stderr)


@tap.test("two sessions in one training count its steps once, and both have the evidence")
def _(folder):
    result = script(folder, TRAIN + """
class Both:
    def step(self):
        for session in sessions:
            session.step()
sessions = [Session(dir="runs", cpu=True), Session(dir="runs", cpu=True)]
for session in sessions:
    session.start()
train(Both())
print(json.dumps([[len(list(evidence.curves())), evidence.path] for evidence in [session.finish() for session in sessions]]))
""")
    first, second = json.loads(result.stdout)
    tap.equal((first[0], second), (20, first), "steps and recording")


@tap.test("a forked process, or a copy by pickle, leaves the session and the folder of its parent alone")
def _(folder):
    result = script(folder, TRAIN + """
import pickle
def fork():
    pid = os.fork()
    if pid == 0:
        session.step()
        session.mark("in the child")
        sys.exit(0)                     # runs the exit handlers that the parent registered
    os.waitpid(pid, 0)
session = Session(cpu=True, sinks=[print])
session.start()
fork()                                  # the folder is still empty
session.begin("train")
copy = pickle.loads(pickle.dumps(session))
train(session)
fork()
copy.step()
assert copy.finish() is None and not copy.is_running
evidence = session.finish()
print(json.dumps([len(list(evidence.curves())), [name for _, _, names in os.walk("stormlog-runs") for name in names if ".slog." in name]]))
""")
    tap.equal(json.loads(result.stdout.splitlines()[-1]), [20, []], "steps, evidence of a failure")
    tap.equal(result.stderr.count("stormlog: next: stormlog analyze"), 1, result.stderr)


@tap.test("the first rank prints and logs; a training that was resumed has curves that go on")
def _(folder):
    code = TRAIN + """
from stormlog.integrations._sink import logger_sink
import functools, pickle
seen = []
session = Session(dir="runs", cpu=True, sinks=[logger_sink(seen.append), lambda evidence: print(evidence.rank, len(seen))])
session.start()
session.resume_at(100)
train(session)
print([step for step, _, _ in session.finish().curves()] == list(range(100, 120)))
pickle.dumps(logger_sink(functools.partial(json.dumps, indent=1)))
"""
    for rank, logged in ((0, 1), (1, 0)):
        result = script(folder, code, RANK=str(rank), WORLD_SIZE="2")
        tap.equal(result.stdout.split(), [str(rank), str(logged), "True"], f"rank {rank}")
        tap.equal(result.stderr.count("leaks 1.00 MiB per step"), logged, result.stderr)
    code = TRAIN + """
torch.distributed.init_process_group("gloo", init_method="file://" + os.path.abspath("meeting"), rank=int(sys.argv[1]), world_size=2)
session = Session(dir="runs", cpu=True)
session.start()
train(session)
torch.distributed.destroy_process_group()
print(session.finish().rank)
"""
    ranks = [subprocess.Popen([need(), "-c", code, str(rank)], cwd=folder, text=True, stdout=subprocess.PIPE) for rank in range(2)]
    tap.equal([one.communicate(timeout=300)[0].strip() for one in ranks], ["0", "1"], "ranks that only torch.distributed knows")


# --- pytest ------------------------------------------------------------------------------------------------------------

TESTS = '''
import pytest, torch
kept, cache = [], {}

def train(steps, hold):
    net = torch.nn.Linear(64, 64)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        y = net(torch.ones(64, 64))
        y.sum().backward()
        optimizer.step()
        hold(y)

@pytest.mark.stormlog(max_peak="8MiB", no_leak=True)
def test_good():
    cache.setdefault("first", torch.zeros(256, 1024))   # made once
    cache["last"] = torch.zeros(256, 1024)              # replaced
    torch.zeros(1024, 1024)

@pytest.mark.stormlog(max_peak="8MiB")
def test_after_others():                                # what others hold does not count
    torch.zeros(1024, 1024)

@pytest.mark.stormlog(max_peak="1MiB")
def test_peak():
    x = torch.zeros(1024, 1024)

@pytest.mark.stormlog(no_leak=True)
def test_leak_by_calls():
    kept.append(torch.zeros(256, 1024))

@pytest.mark.stormlog(no_leak=True)
def test_steps_good():
    train(30, lambda y: None)

@pytest.mark.stormlog(no_leak=True)
def test_leak_by_steps():
    mine = []
    train(30, lambda y: mine.append(y.detach() * 2))

@pytest.mark.stormlog(fits="24GiB")
def test_fits():
    torch.zeros(10)

@pytest.mark.stormlog(no_leak=True, max_peak="1GiB")
def test_broken():
    assert torch.zeros(1)[0] == 1

@pytest.mark.stormlog(limit="1GiB")
def test_usage():
    pass

@pytest.mark.stormlog(max_peak="lots")
def test_limit():
    torch.zeros(10)

@pytest.mark.stormlog(max_peak="1B")
def test_no_memory():
    pass
'''


@tap.test("pytest: limits fail with one line that names the line of code, whatever ran before and in whatever order")
def _(folder):
    python = need("pytest")
    Path(folder, "test_memory.py").write_text(TESTS)
    names = [line.split("(")[0].split()[1] for line in TESTS.splitlines() if line.startswith("def test_")]
    at = {text: number for number, line in enumerate(TESTS.splitlines(), 1)
          for text in ("x = torch.zeros(1024, 1024)", "kept.append(", "mine.append(")
          if text in line}
    for order in (names, names[::-1]):
        result = tap.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "stormlog.integrations.pytest_plugin",
                          "--basetemp=tmp", "-ra",
                          *(f"test_memory.py::{name}" for name in order)], cwd=folder)
        lines = [line for line in result.stdout.splitlines() if f"{folder}/test_memory.py:" in line and ".slog)" in line]
        found = {int(line.split("test_memory.py:")[1].split(" ")[0]): line for line in lines}
        peak, calls, steps = at["x = torch.zeros(1024, 1024)"], at["kept.append("], at["mine.append("]
        tap.equal(sorted(found), [peak, calls, steps], result.stdout)
        tap.contains(found[peak], " in test_peak: peak 4.00 MiB is above the limit of 1.00 MiB")
        tap.contains(found[calls], " in test_leak_by_calls: leaks 1.00 MiB per call")
        tap.contains(found[steps], "+16.0 KiB per step")
        tap.contains(result.stdout, "@pytest.mark.stormlog takes fits, max_peak, no_leak; found {'limit': '1GiB'}")
        tap.contains(result.stdout, "fits was not checked: cannot be proven")
        tap.contains(result.stdout, "@pytest.mark.stormlog: option '--max-peak': 'lots' is neither a percentage nor a size\n")
        tap.true("pytest_plugin.py:" not in result.stdout.split("warnings summary")[0], f"no code of the plugin: {result.stdout}")
        tap.contains(result.stdout, "6 failed, 5 passed")
        tap.true("was not checked" not in result.stdout.replace("fits was not checked", ""), result.stdout)
        kept = sorted(path.name for path in Path(folder, "tmp").rglob("*.slog"))
        tap.true(3 <= len(kept) <= 6, f"recordings of failed tests only: {kept}")


@tap.test("pytest: the plugin is an entry point of the package")
def _():
    text = (FOLDER.parents[2] / "pyproject.toml").read_text()
    tap.contains(text, '[project.entry-points.pytest11]\nstormlog = "stormlog.integrations.pytest_plugin"')


# --- IPython, torch.profiler -------------------------------------------------------------------------------------------

CELLS = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
shell = InteractiveShell.instance()  # as a notebook's: it shows HTML
shell.run_line_magic("load_ext", "stormlog")
shell.run_cell("import torch")
def outputs(code):
    with capture_output() as captured:
        result = shell.run_cell(code, store_history=True)
    return [[output.data.get("text/html", "") for output in captured.outputs], captured.stdout + captured.stderr, result.success]
print("CELLS " + json.dumps([
    outputs("%%memory -o seen\\nkept = torch.ones(1024, 1024)"),
    outputs("%%memory --page\\nkept = torch.ones(1024, 1024)"),
    outputs("%memory torch.ones(512, 1024).sum()"),
    outputs("%%memory --wrong\\npass"),
    outputs("%%memory\\npass"),
    outputs("%%memory\\ntorch.ones(512, 1024); raise KeyError('in the cell')"),
    outputs("def make():\\n    return torch.ones(1024, 1024)")[0] + outputs("%%memory\\n\\nkept = make()")[0],
    [shell.user_ns["seen"].verdict, shell.user_ns["seen"].peaks["host"]],
]))
"""


@tap.test("IPython: %%memory shows the verdict and the lines, or the page, and says what is wrong")
def _(folder):
    result = script(folder, CELLS, "IPython", HOME=folder, IPYTHONDIR=folder)
    line = next(line for line in result.stdout.splitlines() if "CELLS " in line)
    table, page, statement, wrong, nothing, failing, called, (verdict, peak) = json.loads(line.split("CELLS ", 1)[1])
    tap.equal((verdict, peak), ("healthy", 4 * MIB), "the variable")
    tap.contains(table[0][0], "peak 4.00 MiB on host")
    tap.contains(table[0][0], "In[1]:2 in ")
    tap.contains(called[0], "In[7]:2 in make")
    tap.true(page[0][0].startswith("<iframe srcdoc=") and len(page[0][0]) > 50000, "the page")
    tap.contains(statement[0][0], "2.00 MiB")
    tap.contains(wrong[1], "unknown option --wrong; usage: %%memory [--page] [-o NAME]")
    tap.contains(nothing[1], "no allocation of PyTorch was seen")
    tap.contains(failing[1], "in the cell")
    tap.contains(failing[0][0], "2.00 MiB")


@tap.test("torch.profiler: a trace gets steps, counters and the verdict on its own clock; one without that clock is refused")
def _(folder):
    result = script(folder, TRAIN + """
import gzip, time
from stormlog.integrations import torch_profiler
base = time.time_ns() - 5_000_000_000
session = Session(dir="runs", cpu=True)
session.start()
begin = (time.time_ns() - base) / 1000
train(session)
path = session.finish().path
end = (time.time_ns() - base) / 1000
operator = {"ph": "X", "name": "aten::add", "pid": 1, "tid": 1, "ts": begin, "dur": end - begin}
with gzip.open("trace.json.gz", "wt") as file:
    json.dump({"baseTimeNanoseconds": base, "traceEvents": [operator]}, file)
torch_profiler.annotate("trace.json.gz", path)
with gzip.open("trace.json.gz", "rt") as file:
    trace = json.load(file)
json.dump([], open("old.json", "w"))
try:
    torch_profiler.annotate("old.json", path)
except ValueError as error:
    refusal = str(error)
print(json.dumps([begin, end, trace, refusal]))
""")
    begin, end, trace, refusal = json.loads(result.stdout)
    ours = [event for event in trace["traceEvents"] if event["pid"] == "stormlog"]
    steps = [event for event in ours if event["ph"] == "X"]
    tap.equal([event["name"] for event in steps], [f"stormlog step {number}" for number in range(1, 20)], "steps")
    tap.true(begin < steps[0]["ts"] and steps[-1]["ts"] + steps[-1]["dur"] < end, f"times: {begin} {steps[0]} {steps[-1]} {end}")
    tap.equal(sum(event["ph"] == "C" and event["name"] == "host/live_requested_bytes" for event in ours), 20, "counters")
    tap.equal((trace["stormlog"]["verdict"], [event["ts"] for event in ours if event["ph"] == "i"]), ("leak", [end]), "verdict")
    tap.contains(refusal, "'old.json': expected a trace of torch 2 with baseTimeNanoseconds")


tap.main()
