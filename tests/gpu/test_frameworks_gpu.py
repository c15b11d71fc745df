# SPDX-License-Identifier: MIT
"""Trainings with the frameworks of this machine on a real card, under `stormlog run` and through their integrations, against torch's own
counters and the pools' own figures. Argument: the build folder. All run at once: torch's counters are those of a process.

With STORMLOG_GPU_FRAMEWORKS set, the figures go there as a Markdown table."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tap
from device import find_python, need_device, need_module

build = Path(sys.argv.pop(1)).resolve()
PROGRAMS = Path(__file__).resolve().parents[1] / "frameworks" / "programs"
MIB = 1 << 20
# program: the module it needs
TORCH = {"torch": "torch", "lightning": "lightning", "transformers": "transformers", "accelerate": "accelerate",
         "torchvision": "torchvision",
         "geometric": "torch_geometric"}
POOLS = {"jax": "jax", "cupy": "cupy"}
LINE = next(number for number, line in enumerate((PROGRAMS / "common_frameworks.py").read_text().splitlines(), 1) if "# the leak" in line)
rows, started = [], {}


def train(folder, program, mode):
    """(the finished process, the facts it printed, the report of its recording)"""
    place = Path(folder, f"{program}-{mode}")
    place.mkdir()
    env = {**os.environ, "PYTHONPATH": str(build / "python"), "HF_HUB_OFFLINE": "1", "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
           "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "FRAMEWORK_WIDTH": "2048"}
    words = [find_python(), str(PROGRAMS / f"train_{program}.py"), *(["use"] if mode == "use" else [])]
    if mode == "run":
        words = [str(build / "stormlog"), "run", "-q", "-o", "out", "--no-cpu", "--", *words]
    done = tap.run(words, cwd=place, env=env, timeout=300)
    facts = [line for line in done.stdout.splitlines() if line.startswith("FACTS ")]
    if done.returncode or not facts:
        return f"{words} ended with {done.returncode}: {done.stdout[-1000:]}{done.stderr[-2000:]}", None, None
    facts = json.loads(facts[-1][len("FACTS "):])
    paths = [str(path) for path in place.glob("out/*.slog")] if mode == "run" else [str(place / facts["path"])]
    reports = [json.loads(tap.run([str(build / "stormlog"), "analyze", "-f", "json", "--no-whatif", path], timeout=120).stdout or "null")
               for path in paths]
    return "", facts, max((report for report in reports if report), key=lambda report: report["inputs"][0]["events"], default=None)


def results_in(folder):
    """{(program, mode): what train() returned}; everything runs once, for the first test that asks."""
    if not started:
        wanted = [(program, mode) for program in TORCH for mode in ("run", "use")] + [(program, "run") for program in POOLS]
        wanted = [(program, mode) for program, mode in wanted if is_there({**TORCH, **POOLS}[program])]
        with ThreadPoolExecutor(7) as pool:
            started.update(zip(wanted, pool.map(lambda pair: train(folder, *pair), wanted)))
    return started


def is_there(module):
    return tap.run([find_python(), "-c",
                    f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"]).returncode == 0


def card_of(report):
    return next(device for device in report["devices"] if device["device"] == 0)


for _program, _module in TORCH.items():
    for _mode in ("run", "use"):

        _how = "under stormlog run" if _mode == "run" else "through its integration"

        @tap.test(f"{_module}, {_how}: counters to the byte, and the line that leaks")
        def _(folder, program=_program, module=_module, mode=_mode):
            need_module(module)
            problem, facts, report = results_in(folder)[program, mode]
            tap.equal(problem, "", program)
            card = card_of(report)
            rows.append((module, mode, facts["torch_peak"], card["peak_allocated_bytes"], facts["torch_end"], card["allocated_bytes"],
                         facts.get("torch_base", 0), card["steps"]))
            base = facts.get("torch_base", 0)
            tap.equal((card["peak_allocated_bytes"] + base, card["allocated_bytes"] + base), (facts["torch_peak"], facts["torch_end"]),
                      "peak and end")
            leak = next((finding for finding in report["findings"] if finding["kind"] == "leak"), None)
            tap.true(leak, f"a leak in {report['headline']}")
            tap.equal((os.path.basename(leak["site"]["file"]), leak["site"]["line"], leak["bytes_per_step"]),
                      ("common_frameworks.py", LINE, MIB), "leak")


for _program in POOLS:

    @tap.test(f"{_program}: what its pool took from the driver is in the recording")
    def _(folder, program=_program):
        need_module(program)
        problem, facts, report = results_in(folder)[program, "run"]
        tap.equal(problem, "", program)
        tap.equal(facts["learned"], True, "it trains")
        ledger = card_of(report)["ledger"]
        held = sum(row["bytes"] or 0 for row in ledger["rows"] if row["kind"] == "library")
        rows.append((program, "run", facts["pool"], held, facts["in_use"], None, None, card_of(report)["steps"]))
        tap.true(facts["pool"] <= held <= facts["pool"] + 256 * MIB,
                 f"the pool's {facts['pool']} bytes are in the libraries' {ledger['rows']}")


PYTEST = """
import pytest, torch
kept = []

@pytest.mark.stormlog(fits="1GiB", max_peak="600MiB", no_leak=True)
def test_good():
    x = torch.ones(512 << 18, device="cuda")

@pytest.mark.stormlog(fits="256MiB")
def test_too_large():
    x = torch.ones(512 << 18, device="cuda")  # too large

@pytest.mark.stormlog(no_leak=True)
def test_leak():
    kept.append(torch.ones(1 << 18, device="cuda"))  # leak
"""


@tap.test("pytest: fits by replay, peak and leaks on the card, with their lines")
def _(folder):
    need_module("pytest")
    Path(folder, "test_card.py").write_text(PYTEST)
    done = tap.run([find_python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "stormlog.integrations.pytest_plugin",
                    "--basetemp=tmp",
                    "test_card.py"], cwd=folder, env={**os.environ, "PYTHONPATH": str(build / "python")})
    tap.contains(done.stdout, "2 failed, 1 passed")
    for part in ("too large", "leak"):
        number = next(number for number, line in enumerate(PYTEST.splitlines(), 1) if f"# {part}" in line)
        tap.contains(done.stdout, f"test_card.py:{number} in test_", part)


@tap.test("the table")
def _():
    need_device()
    path = os.environ.get("STORMLOG_GPU_FRAMEWORKS")
    if not path:
        tap.skip("STORMLOG_GPU_FRAMEWORKS is not set")
    head = ("package", "how", "torch's peak (pool's size)", "ours", "torch's at the end (pool's used)", "ours", "live before", "steps")
    with open(path, "w") as file:
        file.write(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}\n")
        for row in rows:
            cells = ("–" if cell is None else f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row)
            file.write("| " + " | ".join(cells) + " |\n")


tap.main()
