# SPDX-License-Identifier: MIT
"""--modules: the path of the running module in stacks. Argument: the program."""

import json
import os
import re
import sys

import tap
from plain_torch import PYTHON, need_torch

stormlog = os.path.abspath(sys.argv.pop(1))
ENV = {name: value for name, value in os.environ.items() if not re.match(r"STORMLOG_|LD_PRELOAD", name)}
PATH_FILE = "<module>"

NET = """
import os, sys, threading, torch
torch.set_num_threads(1)
class Leaky(torch.nn.Linear):
    leaks = False
    def forward(self, x):
        y = super().forward(x)
        if self.leaks:
            kept.append(y.detach() * 2)     # line 9
        return y
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.act, self.none = Leaky(16, 16), torch.nn.ReLU(), None
    def forward(self, x):
        return self.act(self.lin(x))
class Net(torch.nn.Module):
    def __init__(self, layers=5):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block() for _ in range(layers)])
        self.head = torch.nn.Linear(16, 1)
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
kept = []
def train(net, steps=30):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        net(torch.ones(64, 16)).sum().backward()
        optimizer.step()
"""


def record(folder, source, options=("--modules",)):
    need_torch(stormlog)
    path, out = os.path.join(folder, "program.py"), os.path.join(folder, "run")
    with open(path, "w") as file:
        file.write(NET + source)
    result = tap.run([stormlog, "run", "-q", "-o", out, *options, "--", PYTHON, path], env=ENV)
    tap.equal(result.returncode, 0, f"exit code; stderr was: {result.stderr}")
    recording = [os.path.join(out, name) for name in os.listdir(out) if name.endswith(".slog")]
    tap.equal(len(recording), 1, "number of recordings")
    return result.stdout, recording[0]


def allocs(path):
    """(module path or None, stack as (file, function)) of every alloc with a stack."""
    result = tap.run([stormlog, "cat", "--stacks", "--format", "json", path])
    tap.equal(result.returncode, 0, result.stderr)
    for event in map(json.loads, result.stdout.splitlines()):
        if event["kind"] == "alloc" and event["frames"]:
            frames = [(frame["file"], frame["function"], frame["line"]) for frame in event["frames"]]
            yield next((function for file, function, _ in frames if file == PATH_FILE), None), frames


def counts(path):
    """How many allocs of forward passes each module path has."""
    found = {}
    for module, frames in allocs(path):
        if any(function.endswith("_call_impl") for _, function, _ in frames):
            found[module] = found.get(module, 0) + 1
    return found


@tap.test("a leak in one of several equal layers is reported for that layer")
def _(folder):
    _, path = record(folder, "net = Net()\nnet.layers[3].lin.leaks = True\ntrain(net)\nos._exit(0)\n")
    report = json.loads(tap.run([stormlog, "analyze", "--format", "json", path]).stdout)
    leak = next(finding for finding in report["findings"] if finding["kind"] == "leak")
    tap.equal([os.path.basename(leak["site"]["file"]), leak["site"]["line"]], ["program.py", 9], "the user's line")
    named = [frame for frame in leak["site"]["stack"] if frame["file"] == PATH_FILE]
    tap.equal([frame["function"] for frame in named], ["layers.3.lin"], "module paths in the stack")
    functions = [frame["function"] for frame in leak["site"]["stack"]]
    at = functions.index("layers.3.lin")
    tap.equal([functions[at - 1], functions[at + 1]], ["Leaky.forward", "Module._call_impl"], "right inside the call")


@tap.test("every layer has its own path, and equal layers have equally many allocations")
def _(folder):
    _, path = record(folder, "train(Net(), 30)\n")
    found = counts(path)
    names = {f"layers.{i}.{part}" for i in range(5) for part in ("lin", "act")} | {"head"}
    tap.equal({name for name in found if name}, names, "paths")
    # The first operator of the first step is what the table was filled for.
    late = [name for name in names if not 29 <= found[name] <= 30]
    tap.equal(late, [], f"paths without an allocation in each step: {found}")


@tap.test("module paths are not recorded by default")
def _(folder):
    _, path = record(folder, "train(Net(), 5)\n", options=())
    tap.equal(set(counts(path)), {None}, "paths")


@tap.test("models created one after another at the same addresses have only their own paths")
def _(folder):
    _, path = record(folder, """
for i in range(30):
    train(Net(layers=1 + i % 4) if i % 2 else torch.nn.Sequential(Block(), torch.nn.Linear(16, 1)), 3)
""")
    allowed = {"Sequential.forward": {"0.lin", "0.act", "1"},
               "Net.forward": {f"layers.{i}.{part}" for i in range(4) for part in ("lin", "act")} | {"head"}}
    seen = 0
    for module, frames in allocs(path):
        if module:
            root = next(function for _, function, _ in reversed(frames) if function in allowed)
            tap.true(module in allowed[root], f"{module} in {frames}")
            seen += 1
    tap.true(seen, "some model lived long enough to be asked")


@tap.test("modules that notice attribute access, several threads, and very many modules run as without the recorder")
def _(folder):
    source = """
asked = []
class Touchy(Net):
    def named_modules(self, *given, **more):
        asked.append("named_modules")
        return super().named_modules(*given, **more)
    def __getattribute__(self, name):
        if sys._getframe(1).f_code.co_name == "train":
            asked.append(name)
        return super().__getattribute__(name)
net = Touchy()
net.double = net.head                       # one module, two names
train(net, 5)
other = threading.Thread(target=train, args=(Net(), 5))
other.start()
other.join()
many = Net()
many.many = torch.nn.ModuleList([torch.nn.Module() for _ in range(10000)])
train(many, 5)
print(asked, sorted(net.__dict__), sum(p.sum().item() for p in net.parameters()) != 0)
"""
    printed, path = record(folder, "torch.manual_seed(0)\n" + source)
    alone = tap.run([PYTHON, os.path.join(folder, "program.py")], env=ENV, check=True).stdout
    tap.equal(printed, alone, "what the program printed")
    found = counts(path)
    tap.true("head" in found and "double" not in found, f"the first of two names: {found}")


@tap.test("module frames do not change the user's line, and are in the flame graph")
def _(folder):
    _, path = record(folder, "net = Net()\ntrain(net, 5)\nkept = net(torch.ones(64, 16))\nos._exit(0)\n")
    report = json.loads(tap.run([stormlog, "analyze", "--format", "json", path]).stdout)
    files = {row["site"]["file"] for row in report["devices"][0]["top_peak"]}
    tap.true(PATH_FILE not in files, f"no line is a module's name: {files}")
    folded = os.path.join(folder, "folded.txt")
    tap.equal(tap.run([stormlog, "export", path, "--to", "folded", "-o", folded]).returncode, 0, "export")
    tap.true("layers.2.act (<module>)" in open(folded).read(), "the path is in the flame graph")


tap.main()
