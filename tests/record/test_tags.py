# SPDX-License-Identifier: MIT
"""Tags: what the recording says about parameters, gradients and the rest against the program's own count.
Argument: the program."""

import json
import os
import re
import sys

import slog_totals
import tap
from plain_torch import PYTHON, need_torch

stormlog = os.path.abspath(sys.argv.pop(1))
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
ENV = {name: value for name, value in os.environ.items() if not re.match(r"STORMLOG_|LD_PRELOAD", name)}

def record(folder, *command, options=(), code=0):
    """Runs a Python program under `stormlog run`; returns what it printed and the path of its recording."""
    need_torch(stormlog)
    out = os.path.join(folder, "run")
    result = tap.run([stormlog, "run", "-q", "-o", out, *options, "--", PYTHON, *command], env=ENV, cwd=folder)
    tap.equal(result.returncode, code, f"exit code; stderr was: {result.stderr}")
    files = [name for name in os.listdir(out) if name.endswith(".slog")]
    tap.equal(len(files), 1, "number of recordings")
    return result.stdout, os.path.join(out, files[0])


def device_report(path):
    result = tap.run([stormlog, "analyze", "--format", "json", path])
    tap.equal(result.returncode, 0, result.stderr)
    devices = json.loads(result.stdout)["devices"]
    tap.equal(len(devices), 1, "devices")
    return devices[0]


def by_tag(path, key="live_by_tag"):
    return {row["tag"]: row["bytes"] for row in device_report(path)[key]}


def events(path, kind):
    result = tap.run([stormlog, "cat", "--format", "json", path])
    tap.equal(result.returncode, 0, result.stderr)
    return [event for event in map(json.loads, result.stdout.splitlines()) if event["kind"] == kind]


def scans(path):
    """How often an optimizer was scanned; the last count is written at a normal end."""
    return slog_totals.load(path).counters.get(("tag_scans", -1), (0, ""))[0]


def compare(folder, *arguments, options=(), code=0):
    printed, path = record(folder, f"{PROGRAMS}/tagged.py", *arguments, options=options, code=code)
    expected = {tag: count for tag, count in json.loads(printed).items() if count}
    tap.equal(by_tag(path), expected, f"bytes by tag, {' '.join(arguments)}")
    tap.equal(sum(expected.values()), device_report(path)["live_requested_bytes"], "all live bytes have a tag")
    tap.equal(tap.run([stormlog, "fsck", path]).returncode, 0, "fsck")
    return path


for optimizer, zero in (("Adam", "none"), ("Adam", "zero"), ("SGD", "none"), ("SGD", "zero"), ("momentum", "none"),
                        ("Adagrad", "zero"), ("LBFGS", "none")):
    @tap.test(f"{optimizer}, gradients set to {zero}: the bytes of each tag equal the program's own count")
    def _(folder, optimizer=optimizer, zero=zero):
        compare(folder, optimizer, zero, "7", "step")


@tap.test("activations and inputs of a forward pass equal the program's own count")
def _(folder):
    compare(folder, "Adam", "none", "3", "forward")


for words, stop in (("after its step", "step"), ("inside it", "forward")):
    @tap.test(f"a training step inside the optimizer's closure, {words}: its blocks have the same tags as outside it")
    def _(folder, stop=stop):
        path = compare(folder, "Adam", "none", "7", stop, "closure")
        tap.equal(slog_totals.load(path).steps, list(range(1, 8 if stop == "forward" else 7)), "steps whose end was seen")


BY_HAND = """
import json, os, sys, torch
torch.set_num_threads(1)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 128)
        self.second = torch.nn.Parameter(torch.zeros(128, 32))  # made before anything says what it is
    def forward(self, x):
        return self.first(x) @ self.second
model, kept = Model(), []
weight = torch.zeros(32, 16, requires_grad=True)
def held(tensors):
    return sum(t.storage().nbytes() for t in tensors if t is not None)
"""
INFER = BY_HAND + """
with torch.no_grad():
    for i in range(6):
        x = torch.ones(8, 64)
        if i == 1:
            late = torch.ones(64, 64)  # loaded when the program already runs
        y = model(x) @ weight
print(json.dumps({"parameter": held(model.first.parameters()), "unknown": held([model.second, weight]), "other": held([late]),
                  "input": held([x, y])}), flush=True)
os._exit(0)
"""
UPDATE = BY_HAND + """
for i in range(6):
    x = torch.ones(8, 64)
    loss = (model(x) @ weight).sum()
    for p in model.parameters():
        p.grad = None
    weight.grad = None
    loss.backward()
    with torch.no_grad():
        for p in [*model.parameters(), weight]:
            p -= 0.01 * p.grad
del loss
torch.ones(1)  # what a backward pass leaves behind is known when something else comes
print(json.dumps({"parameter": held(model.first.parameters()), "unknown": held([model.second, weight]), "input": held([x]),
                  "gradient": held(p.grad for p in [*model.parameters(), weight])}), flush=True)
os._exit(0)
"""
RAW = """
import json, os, torch
weight = torch.zeros(32, 16, requires_grad=True)
for i in range(6):
    gradient, = torch.autograd.grad((torch.ones(8, 32) @ weight).sum(), weight)
    weight = (weight - 0.01 * gradient).detach().requires_grad_()
del gradient
print(json.dumps({"other": weight.storage().nbytes()}), flush=True)
os._exit(0)
"""

for words, source in (("inference", INFER), ("an update by hand", UPDATE), ("tensors without a module", RAW)):
    @tap.test(f"a program without an optimizer, {words}: parameters are not tagged as input")
    def _(folder, source=source):
        with open(os.path.join(folder, "program.py"), "w") as file:
            file.write(source)
        printed, path = record(folder, "program.py")
        tap.equal(by_tag(path), json.loads(printed), "bytes by tag")


@tap.test("with two optimizers, one of which steps every other time, the tags are right")
def _(folder):
    compare(folder, "Adam,momentum", "none", "9", "forward")


@tap.test("before the first step of an optimizer, parameters are recognised by how they were created")
def _(folder):
    printed, path = record(folder, f"{PROGRAMS}/tagged.py", "Adam", "none", "0", "forward")
    expected = json.loads(printed)
    found = by_tag(path)
    tap.equal([found["parameter"], found["activation"]], [expected["parameter"], expected["activation"]])
    tap.equal(found["unknown"], expected["input"], "the first batch: nothing says yet that training runs")


@tap.test("after kill -9 the recording has the tags")
def _(folder):
    compare(folder, "Adam", "none", "9", "kill", code=128 + 9)


@tap.test("tags are kept when the ring has overwritten their events")
def _(folder):
    path = compare(folder, "Adam", "none", "600", "forward", options=["--ring", "1MiB"])
    lost = [note for note in tap.run([stormlog, "analyze", path]).stdout.split("\n") if "overwritten" in note]
    tap.true(lost, "the ring has wrapped")
    first = min(event["time_ns"] for event in events(path, "annotate"))
    tap.true(first > 0 and not any(event["tag"] == "parameter" for event in events(path, "annotate")),
             "no annotation of a parameter is left in the ring")


@tap.test("an optimizer is scanned after steps 1, 2, 4, 8, ... and its blocks are annotated once")
def _(folder):
    _, path = record(folder, f"{PROGRAMS}/tagged.py", "Adam,momentum", "zero", "100", "exit")
    tap.equal(scans(path), 7 + 6, "number of looks in 100 steps of one, 50 of the other")
    named = [event for event in events(path, "annotate") if event["addr"]]
    tap.equal(len(named), len({(event["addr"], event["tag"]) for event in named}), "no block twice")
    changes = [event["tag"] for event in events(path, "annotate") if not event["addr"]]
    tap.equal([changes.count("optimizer"), changes.count("outside"), changes.count("closure")], [150, 150, 0],
              "a beginning and an end for each step of each optimizer")


@tap.test("a parameter that is added later is tagged at the next step")
def _(folder):
    path = os.path.join(folder, "program.py")
    with open(path, "w") as file:
        file.write("""
import os, torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
def step():
    optimizer.zero_grad()
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
for _ in range(5):
    step()
extra = torch.zeros(1000, requires_grad=True)
extra.grad = torch.ones(1000)
optimizer.add_param_group({"params": [extra]})
step()
os._exit(0)
""")
    _, recording = record(folder, path)
    tap.equal([e["size"] for e in events(recording, "annotate") if e["tag"] == "parameter"], [256, 32, 4000])


@tap.test("--no-tags never scans an optimizer; the rules still find the tags of a simple program")
def _(folder):
    path = compare(folder, "Adam", "none", "5", "step", options=["--no-tags"])
    tap.equal([event for event in events(path, "annotate") if event["addr"]], [], "annotations")

    os.rename(os.path.join(folder, "run"), os.path.join(folder, "first"))
    _, path = record(folder, f"{PROGRAMS}/tagged.py", "Adam", "none", "5", "exit", options=["--no-tags"])
    tap.equal(scans(path), 0, "looks")


@tap.test("a program without phases has no tags, and reports null")
def _(folder):
    path = os.path.join(folder, "program.py")
    with open(path, "w") as file:
        file.write("import os, torch\nkept = torch.ones(100)\nos._exit(0)\n")
    _, recording = record(folder, path)
    device = device_report(recording)
    tap.equal([device["live_by_tag"], device["peak_by_tag"]], [None, None])


for kind in ("RaisesInGetattr", "RaisesInGetattribute", "HasNoLists", "StrangeLists", "Failing", "Watched"):
    @tap.test(f"an optimizer that is {kind} does not notice the scan")
    def _(folder, kind=kind):
        need_torch(stormlog)
        command = [f"{PROGRAMS}/hostile_optimizer.py", kind]
        alone = tap.run([PYTHON, *command], env=ENV, check=True).stdout
        printed, path = record(folder, *command)
        tap.equal(printed, alone, "what the program printed")
        if kind != "HasNoLists":
            tap.true("parameter" in {e["tag"] for e in events(path, "annotate")}, "its parameters were seen")


@tap.test("torch.profiler sees the same operators and memory with and without the recorder")
def _(folder):
    need_torch(stormlog)
    path = os.path.join(folder, "program.py")
    with open(path, "w") as file:
        file.write("""
import json, torch
torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
optimizer = torch.optim.Adam(model.parameters())
with torch.profiler.profile(profile_memory=True) as profiler:
    for _ in range(4):
        optimizer.zero_grad(set_to_none=True)
        model(torch.ones(2, 8)).sum().backward()
        optimizer.step()
print(json.dumps([[e.name(), e.nbytes()] for e in profiler.profiler.kineto_results.events()]))
""")
    names = [sorted(map(str, json.loads(text)))
             for text in (tap.run([PYTHON, path], env=ENV, check=True).stdout, record(folder, path)[0])]
    tap.true(len(names[0]) > 100, "the profiler sees events at all")
    tap.equal(names[1], names[0], "events of the profiler")


@tap.test("diff shows what grew by tag and by phase")
def _(folder):
    _, before = record(folder, f"{PROGRAMS}/tagged.py", "SGD", "none", "2", "step")
    os.rename(os.path.join(folder, "run"), os.path.join(folder, "before"))
    _, after = record(folder, f"{PROGRAMS}/tagged.py", "Adam", "none", "2", "step")
    before = before.replace("/run/", "/before/")
    result = tap.run([stormlog, "diff", "--format", "json", before, after])
    tap.equal(result.returncode, 0, result.stderr)
    diff = json.loads(result.stdout)["diffs"][0]
    grown = {row["tag"]: row["delta_bytes"] for row in diff["by_tag"] if row["delta_bytes"]}
    tap.equal(grown, {"optimizer state": diff["delta_bytes"]}, "by tag")
    phases = {row["phase"]: row["delta_bytes"] for row in diff["by_phase"] if row["delta_bytes"]}
    tap.equal(phases, {"optimizer": diff["delta_bytes"]}, "by phase")
    text = tap.run([stormlog, "diff", before, after]).stdout
    tap.true(re.search(r"by tag +optimizer state \+169 KiB \(now 169 KiB\)\n", text), text)


tap.main()
