# SPDX-License-Identifier: MIT
"""Small programs with a known truth, recorded with a real torch on the CPU: which of them leak, and on which line. Loading data
recurs as regularly as a training loop, and a leak of a server looks much like loading. Argument: the program."""

import json
import os
import re
import sys

import tap
from plain_torch import PYTHON, need_torch

stormlog = os.path.abspath(sys.argv.pop(1))
ENV = {name: value for name, value in os.environ.items() if not re.match(r"STORMLOG_|LD_PRELOAD", name)}

NET = "net = torch.nn.Sequential(torch.nn.Linear(100, 100), torch.nn.ReLU(), torch.nn.Linear(100, 10))\n"

# name, source from line 2 on, line of the leak (None = it does not leak), line of what is made in a row, steps.
CASES = [
    ("a list of 20 tensors", "keep = [torch.zeros(100000) for _ in range(20)]\n", None, 2, None),
    ("a list of 200 tensors", "keep = [torch.zeros(100000) for _ in range(200)]\n", None, 2, None),
    ("20 equal layers", "net = torch.nn.Sequential(*[torch.nn.Linear(300, 300) for _ in range(20)])\n", None, None, None),
    ("data and labels in a loop, then three passes", "data = []\nfor i in range(100):\n    x = torch.rand(100, 100)\n"
     "    data.append((x, torch.zeros(10)))\n" + NET + "for x, y in data[:3]:\n    net(x).sum().backward()\n", None, 4, None),
    ("a loop that only keeps", "keep = []\nfor i in range(50):\n    keep.append(torch.rand(100, 100))\n", 4, None, 50),
    ("a list, then three passes", "data = [torch.rand(100, 100) for i in range(100)]\n" + NET +
     "for x in data[:3]:\n    net(x).sum().backward()\n", None, 2, None),
    ("data made with temporaries, then training", "data = []\nfor i in range(100):\n    x = torch.rand(100, 100)\n    x = x - x.mean()\n"
     "    data.append(x)\n" + NET + "for x in data[:10]:\n    net(x).sum().backward()\n", None, 5, 10),
    ("a list that is dropped", "keep = [torch.zeros(100000) for _ in range(50)]\nkeep = None\n", None, None, None),
    ("a server that keeps nothing", NET + "with torch.no_grad():\n    for i in range(100):\n        y = net(torch.rand(8, 100))\n",
     None, None, 100),
    ("a server that keeps its answers", NET + "keep = []\nwith torch.no_grad():\n    for i in range(100):\n"
     "        x = torch.rand(8, 100)\n        keep.append(net(x))\n", 7, None, 100),
    ("a server after much loading", "data = [torch.rand(10, 100) for i in range(900)]\n" + NET + "keep = []\nwith torch.no_grad():\n"
     "    for i in range(40):\n        y = net(data[i])\n        keep.append(y.sum())\n", 8, 2, 40),
    ("every output of one layer", "net, x, keep = torch.nn.Linear(100, 100), torch.rand(8, 100), []\n"
     "for i in range(50):\n    keep.append(net(x))\n", 4, None, 50),
    ("losses of a training loop", NET + "optimizer, keep = torch.optim.SGD(net.parameters(), lr=0.01), []\nfor i in range(40):\n"
     "    optimizer.zero_grad()\n    loss = net(torch.rand(8, 100)).pow(2).sum()\n    loss.backward()\n    optimizer.step()\n"
     "    keep.append(loss)\n", 6, None, 40),
]


def analyze(folder, source, code):
    """The report of a program that ends in this way: by itself, or with kill -9."""
    need_torch(stormlog)
    tap.skip_if_sanitized(stormlog)
    path, out = os.path.join(folder, "program.py"), os.path.join(folder, "run")
    with open(path, "w") as file:
        file.write("import os, torch\n" + source + ("os.kill(os.getpid(), 9)\n" if code else ""))
    result = tap.run([stormlog, "run", "-q", "-o", out, "--", PYTHON, path], env=ENV, cwd=folder)
    tap.equal(result.returncode, code, result.stderr)
    return json.loads(tap.run([stormlog, "analyze", "--format", "json", out], check=True).stdout)


def lines_of(report, kind):
    return [f["site"]["line"] for f in report["findings"] if f["kind"] == kind]


def judge(folder, case, code):
    _, source, leak_line, row_line, steps = case
    version = "import sys; sys.exit(sys.version_info >= (3, 12))"
    if source.startswith("keep = [") and row_line and tap.run([PYTHON, "-c", version]).returncode:
        tap.skip("from Python 3.12 on a comprehension has no frame of its own: such a list is called a leak")
    report = analyze(folder, source, code)
    tap.equal(report["verdict"], "healthy" if leak_line is None else "leak", f"verdict: {report['headline']}")
    tap.equal(leak_line is None, not lines_of(report, "leak"), "no leaks")
    tap.true(leak_line is None or leak_line in lines_of(report, "leak"), f"lines of leaks: {lines_of(report, 'leak')}")
    tap.equal(lines_of(report, "build-up")[:1], [] if row_line is None else [row_line], "line of what was made in a row")
    device = report["devices"][0]
    tap.true(device["steps"] == steps or (code and device["steps"] == (steps or 0) - 1), f"steps: {device['steps']}, want {steps}")
    tap.equal(device["leaks_judged"], steps is not None, "leaks are judged where there are steps")
    if steps is None:
        tap.contains(report["headline"], "No leak verdict: no steps were seen; no request failed")


ENDS = ((128 + 9, "killed"), (0, "that ends"))
for i, case in enumerate(CASES):
    for code, how in ENDS[:2 if i < 2 else 1]:
        @tap.test(f"{case[0]}, {how}")
        def _(folder, case=case, code=code):
            judge(folder, case, code)


@tap.test("a gate is not judged when too few steps were seen")
def _(folder):
    analyze(folder, CASES[0][1], 0)
    result = tap.run([stormlog, "check", "--no-leak", "--format", "json", os.path.join(folder, "run")])
    tap.equal(result.returncode, 0, result.stderr)
    tap.equal(json.loads(result.stdout)["gates"][0]["text"], "not judged: too few steps were seen")


tap.main()
