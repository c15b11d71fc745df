# SPDX-License-Identifier: MIT
"""`stormlog top` and the forecast of `stormlog run`, as text and JSON: test_top.py STORMLOG."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import json_schema
import tap
from plain_torch import PYTHON, need_torch

STORMLOG = os.path.abspath(sys.argv.pop(1))
ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/schemas/top-1.json").read_text())
PATIENCE_S = 180

# A leak that fills what is left of the host within 240 steps. Nothing touches the memory, so none is taken.
LEAK = """
import sys, time, torch
free = int(next(l for l in open("/proc/meminfo") if l.startswith("MemAvailable")).split()[1]) << 10
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
kept = []
for step in range(int(sys.argv[1])):
    model(torch.randn(64, 64)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if sys.argv[2] == "leak":
        kept.append(torch.empty(free // 240, dtype=torch.uint8))
    time.sleep(0.04)
print("done", flush=True)
sys.stdin.read()
"""


def start(folder, steps, habit, *options):
    need_torch(STORMLOG)
    path = os.path.join(folder, "train.py")
    Path(path).write_text(LEAK)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("STORMLOG_", "LD_PRELOAD"))}
    return subprocess.Popen([STORMLOG, "run", "-o", f"{folder}/run", *options, "--", PYTHON, path, str(steps), habit], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)


def ask(path):
    return json.loads(tap.run([STORMLOG, "top", "--format", "json", path], check=True).stdout)


def check_schema(shown):
    tap.equal(list(json_schema.problems(shown, SCHEMA)), [], "what differs from docs/schemas/top-1.json")


@tap.test("a folder of runs is refused with the run to name")
def _(folder):
    os.makedirs(f"{folder}/latest")
    done = tap.run([STORMLOG, "top", "--once", folder])
    tap.equal((done.returncode, done.stderr),
              (3, f"stormlog: cannot read '{folder}': it is a folder of runs; name one of them, such as {folder}/latest\n"))


@tap.test("a finished recording: no forecast, and the host's memory")
def _(folder):
    for name in ("leak", "oom", "nccl"):
        shown = ask(str(ROOT / f"tests/data/slog/{name}.slog.xz"))
        check_schema(shown)
        tap.equal([(d["forecast"], d["failure"]) for d in shown[0]["devices"]], [(None, None)] * len(shown[0]["devices"]), name)
        tap.true(shown[0]["host"]["available_bytes"] > 1 << 30, "the host has memory")


@tap.test("updates come every 100 ms at most")
def _(folder):
    done = tap.run([STORMLOG, "top", "--interval", "50ms", str(ROOT / "tests/data/slog/leak.slog.xz")])
    tap.equal(done.returncode, 2, done.stderr)
    tap.contains(done.stderr, "--interval: expected at least 100ms")


@tap.test("run says when a leak will have filled the memory, and which line it is")
def _(folder):
    process = start(folder, 220, "leak")
    try:
        line = next((line for line in process.stderr if "out of memory in" in line), "")
        tap.contains(line, "stormlog: alert: host: out of memory in ")
        tap.contains(line, " at this rate, because of train.py:12 (+")
        shown = ask(f"{folder}/run")
        check_schema(shown)
        host = next(d for d in shown[0]["devices"] if d["device"] == -1)
        tap.equal((host["forecast"]["line"], host["forecast"]["grows"], host["forecast"]["limit"]), ("train.py:12", "tensors", "host"))
        tap.true(host["forecast"]["seconds_low"] <= host["forecast"]["seconds"] <= host["forecast"]["seconds_high"], "a range")
        tap.equal(host["failure"]["cause"], "host-full")
        text = tap.run([STORMLOG, "top", "--once", f"{folder}/run"], check=True).stdout
        tap.contains(text, "out of memory in ")
        tap.contains(text, "largest request: train.py:12 asks for ")
    finally:
        process.kill()
        process.communicate()
    alerts = [json.loads(row) for row in Path(f"{folder}/run/alerts.jsonl").read_text().splitlines()]
    tap.equal([(a["kind"], a["device"], a["forecast"]["line"]) for a in alerts], [("time-to-out-of-memory", -1, "train.py:12")])


@tap.test("a healthy training says nothing, and --no-forecast is obeyed")
def _(folder):
    os.mkdir(f"{folder}/a")
    os.mkdir(f"{folder}/b")
    healthy, leak = start(f"{folder}/a", 110, "healthy"), start(f"{folder}/b", 110, "leak", "--no-forecast")
    for process in (healthy, leak):
        tap.equal(process.stdout.readline(), "done\n")
        _, errors = process.communicate("")
        tap.true("out of memory" not in errors, errors)
    tap.true(not os.path.exists(f"{folder}/a/run/alerts.jsonl") and not os.path.exists(f"{folder}/b/run/alerts.jsonl"), "no file")


tap.main()
