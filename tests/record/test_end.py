# SPDX-License-Identifier: MIT
"""The end of the work: marked after the program's own atexit callbacks and before anything is torn down. Argument: the
program."""

import json
import os
import re
import sys

import tap
from plain_torch import PYTHON, need_torch

stormlog = os.path.abspath(sys.argv.pop(1))
ENV = {name: value for name, value in os.environ.items() if not re.match(r"STORMLOG_|LD_PRELOAD", name)}

def read_events(folder):
    """The events of each recording in the folder, by the order of their names."""
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".slog"):
            result = tap.run([stormlog, "cat", "--format", "json", os.path.join(folder, name)])
            tap.equal(result.returncode, 0, result.stderr)
            found.append([json.loads(line) for line in result.stdout.splitlines()])
    return found


def record(folder, source, options=(), code=0):
    need_torch(stormlog)
    path, out = os.path.join(folder, "program.py"), os.path.join(folder, "run")
    with open(path, "w") as file:
        file.write(source)
    result = tap.run([stormlog, "run", "-q", "-o", out, *options, "--", PYTHON, path], env=ENV, cwd=folder)
    tap.equal(result.returncode, code, result.stderr)
    return read_events(out)


def live_at_mark(events):
    """Bytes that live at the one mark, what the mark itself says, and what lives after the last event."""
    live, at_mark = {}, []
    for event in events:
        if event["kind"] == "alloc":
            live[event["device"], event["addr"]] = event["size"]
        elif event["kind"] == "free":
            live.pop((event["device"], event["addr"]), None)
        elif event["kind"] == "work_end":
            at_mark.append((sum(live.values()), event["size"], event["addr"]))
    tap.equal(len(at_mark), 1, f"marks of the end: {at_mark}")
    return at_mark[0], sum(live.values())


HOLD = """
import atexit, os, sys, torch
kept = [torch.ones(250_000) for _ in range(10)]
gone = torch.ones(1_000)
del gone
@atexit.register
def at_exit():
    kept.append(torch.ones(500))
"""
HELD = 10 * 1_000_000 + 2_000

for words, options in (("", ()), (", without stacks", ("--stacks", "none"))):
    @tap.test(f"memory that a program and its atexit callbacks hold is live at the mark{words}")
    def _(folder, options=options):
        (events,) = record(folder, HOLD, options)
        tap.equal(live_at_mark(events), ((HELD, HELD, 0), 0), "live at the mark (counted, told, address), and at the last event")


for words, end, code in (("sys.exit(3)", "sys.exit(3)", 3), ("an error", "raise ValueError", 1)):
    @tap.test(f"{words} is marked like any other end")
    def _(folder, end=end, code=code):
        (events,) = record(folder, HOLD + end, code=code)
        tap.equal(live_at_mark(events)[0][0], HELD)


for words, end, code in (("sys.exit(3)", "sys.exit(3)", 3), ("an error", "raise ValueError", 1), ("the end of the program", "", 0),
                         ("os._exit(4)", "os._exit(4)", 4)):
    @tap.test(f"the recording has the exit status: {words}")
    def _(folder, end=end, code=code):
        record(folder, HOLD + end, code=code)
        result = tap.run([stormlog, "analyze", "--format", "json", os.path.join(folder, "run")])
        process = json.loads(result.stdout)["inputs"][0]["process"]
        tap.equal((process["ended"], process["exit_status"]), ("left" if "_exit" in end else "exited", code), "its end")


@tap.test("the status of a child of a fork is its own, and so is its parent's")
def _(folder):
    record(folder, HOLD + """
pid = os.fork()
kept.append(torch.ones(1_000))
if not pid:
    sys.exit(7)
os.waitpid(pid, 0)
sys.exit(6)
""", code=6)
    result = tap.run([stormlog, "analyze", "--format", "json", os.path.join(folder, "run")])
    tap.equal(sorted(found["process"]["exit_status"] for found in json.loads(result.stdout)["inputs"]), [6, 7], "both")


for words, end, code in (("os._exit", "os._exit(0)", 0), ("kill -9", "os.kill(os.getpid(), 9)", 128 + 9)):
    @tap.test(f"{words} leaves no mark")
    def _(folder, end=end, code=code):
        (events,) = record(folder, HOLD + end, code=code)
        tap.equal([event for event in events if event["kind"] == "work_end"], [])


@tap.test("the child of a fork has its own mark")
def _(folder):
    both = record(folder, HOLD + """
pid = os.fork()
kept.append(torch.ones(1_000 if pid else 3_000))
if pid:
    os.waitpid(pid, 0)
""")
    tap.equal(len(both), 2, "recordings")
    # The child's recording has what the child made; the callback of the parent's list runs there too.
    tap.equal(sorted(live_at_mark(events)[0][0] for events in both), [12_000 + 2_000, HELD + 4_000])


@tap.test("a recording ends where it is stopped, and the next one has its own end")
def _(folder):
    need_torch(stormlog)
    library = os.path.join(os.path.dirname(stormlog), "libstormlog_record.so")
    path, out = os.path.join(folder, "program.py"), os.path.join(folder, "out")
    with open(path, "w") as file:
        file.write("""
import ctypes, os, torch
library = ctypes.CDLL(os.environ["LIBRARY"])
for size in 1000, 2000:
    library.sl_record_start(None)
    x = torch.ones(size)
    library.sl_record_stop()
""")
    result = tap.run([PYTHON, path], env={**ENV, "LIBRARY": library, "STORMLOG_DIR": out, "STORMLOG_CPU": "1"}, cwd=folder)
    tap.equal(result.returncode, 0, result.stderr)
    tap.equal(sorted(live_at_mark(events)[1] for events in read_events(out)), [4_000, 8_000])
    for events in read_events(out):
        tap.equal(events[-1]["kind"], "work_end", "the last event")


@tap.test("a step that ends with the program comes before the mark")
def _(folder):
    (events,) = record(folder, """
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
""")
    tap.equal([event["kind"] for event in events if event["kind"] in ("step", "work_end")], ["step"] * 3 + ["work_end"])


tap.main()
