# SPDX-License-Identifier: MIT
"""What people know from other tools, on a real card and compared with torch and the driver: counts of tensors, both histories in
one process, our snapshot in torch's own viewer, hidden memory while it grows, the figures of every step. Argument: the build folder."""

import json
import os
import sys
from pathlib import Path

import tap

build = Path(sys.argv.pop(1)).resolve()
BEGIN = """
import ctypes, json, os, sys
import torch
import stormlog
MIB = 1024 ** 2
def block(mib):
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")
"""


def script(folder, code, *before):
    """Runs the code with a Python whose torch has CUDA; its last line as JSON."""
    python = tap.python_with("torch")
    env = {**os.environ, "PYTHONPATH": str(build / "python")}
    if tap.run([python, "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"], env=env).returncode:
        tap.skip("torch sees no CUDA device here")
    if not (build / "python" / "stormlog").exists():
        tap.skip("the Python packages were not built: Python.h was not found")
    path = Path(folder, "program.py")
    path.write_text(BEGIN + code)
    result = tap.run([*before, python, str(path)], cwd=folder, env=env, timeout=240)
    tap.equal(result.returncode, 0, result.stdout + result.stderr)
    return json.loads(result.stdout.strip().splitlines()[-1])


@tap.test("created and deleted tensors are those that Python holds, and the peaks are torch's")
def _(folder):
    found = script(folder, """
profiler = stormlog.GPUMemoryProfiler(track_tensors=True, collect_stack_traces=True)
kept = []
def create():
    kept.extend(block(1) for _ in range(9))
    block(30)
def delete():
    del kept[:4]
made = profiler.profile_function(create)
torch_peak = torch.cuda.max_memory_allocated()
gone = profiler.profile_function(delete)
print(json.dumps([made.tensors_created, made.tensors_deleted, made.memory_allocated, gone.tensors_created, gone.tensors_deleted,
                  gone.memory_freed, made.peak_memory_usage() == torch_peak, "program.py" in made.memory_before.stack_trace]))
""")
    mib = 1024 ** 2
    tap.equal(found, [9, 0, 9 * mib, 0, 4, 4 * mib, True, True], "created, deleted, bytes, peak, stack")


@tap.test("torch's history and our recording count the same, and torch's viewer opens our snapshot")
def _(folder):
    found = script(folder, """
import pickle
torch.cuda.memory._record_memory_history(max_entries=100_000)
recording = stormlog.record(dir="run")
model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 8)).cuda()
optimizer = torch.optim.Adam(model.parameters())
kept = []
for step in range(12):
    loss = model(torch.randn(64, 1024, device="cuda")).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    kept.append(block(2))
    stormlog.step(step)
torch.cuda.synchronize()
theirs = torch.cuda.memory._snapshot()
torch.cuda.memory._record_memory_history(enabled=None)
stormlog.snapshot("ours.pickle")
recording.stop()
pickle.dump(theirs, open("theirs.pickle", "wb"))
reports = [stormlog.analyze(name) for name in ("theirs.pickle", "ours.pickle", recording.path)]
cards = [next(d for d in report["devices"] if d["device"] == 0) for report in reports]
print(json.dumps([[(c["allocs"], c["frees"], c["live_bytes"], c["peak_bytes"]) for c in cards],
                  torch.cuda.memory_allocated(), [r["verdict"] for r in reports]]))
""")
    theirs, ours, recorded = map(tuple, found[0])
    # In blocks: without --replay a recording does not know what was requested of them.
    tap.equal(ours, theirs, "our snapshot and torch's: allocations, frees, live, peak")
    tap.equal(recorded, theirs, "our recording and torch's history")
    tap.equal((ours[2], found[2]), (found[1], ["leak"] * 3), "live bytes are torch's; the verdicts")
    python = tap.python_with("torch")
    # Not `segments` and `memory`: they fetch a script from the network first.
    for command in ("trace", "trace_plot", "segment_plot"):
        page = [] if command == "trace" else ["-o", f"{command}.out"]
        done = tap.run([python, "-m", "torch.cuda._memory_viz", command, "ours.pickle", *page], cwd=folder)
        tap.equal(done.returncode, 0, f"_memory_viz {command}\n{done.stderr}")
        shown = Path(folder, f"{command}.out").read_text() if page else done.stdout
        tap.true(len(shown) > 100, f"_memory_viz {command} shows something: {shown!r}")


@tap.test("hidden memory is seen while it grows, by the amount that the driver gave")
def _(folder):
    found = script(folder, """
cuda = ctypes.CDLL("libcuda.so.1")
kept = block(64)
tracker = stormlog.MemoryTracker(sampling_interval=3600)
tracker.start_tracking()
hidden = []
for _ in range(6):
    address = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(128 * MIB)) == 0
    tracker._tick()
tracker.stop_tracking()
samples = [e for e in tracker.get_telemetry_events() if e.event_type == "sample"]
gaps = [e.device_used_bytes - e.allocator_reserved_bytes for e in samples]
free, total = torch.cuda.mem_get_info()
print(json.dumps([[(b - a) // MIB for a, b in zip(gaps, gaps[1:6])], samples[-1].device_used_bytes, total - free]))
""")
    # Others may use the card at the same time; 128 MiB each time is what was taken here.
    tap.true(all(growth >= 64 for growth in found[0]) and sum(found[0]) >= 5 * 120, f"growth of the gap: {found[0]}")
    tap.true(abs(found[1] - found[2]) <= 256 * 1024 ** 2, f"used {found[1]}, by the driver {found[2]}")


@tap.test("the figures of a step have the run's peak until a monitor resets it")
def _(folder):
    found = script(folder, """
from stormlog.metrics import DeviceMemoryMonitor, MetricsTracker
tracker, monitor = MetricsTracker(device=0), DeviceMemoryMonitor(device=0, snapshot_step=2)
rows = []
for step, mib in enumerate((100, 700, 50, 50)):
    tracker.start_step()
    x = block(mib); del x
    rows.append(tracker.end_step(step, loss=1.0, tokens_in_step=64))
    if step == 2:
        monitor.report(step)
print(json.dumps([[round(row.peak_gb * 1024) for row in rows], rows[-1].tokens_per_sec > 0, rows[-1].grad_norm,
                  rows[-1].mem_utilization == rows[-1].peak_gb / rows[-1].total_gb, os.listdir("memory_snapshots")]))
""")
    tap.equal(found, [[100, 700, 700, 50], True, None, True, ["snapshot_step_2_device_0.pickle"]], "peaks in MiB, and the rest")


tap.main()
