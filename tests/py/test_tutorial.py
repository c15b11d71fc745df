# SPDX-License-Identifier: MIT
"""The ways in which people use the tool today, as the walkthroughs and recipes teach them, run from beginning to end: on
PyTorch's CPU build, and on stand-ins where a device is needed."""

import os
import sys
from pathlib import Path

import tap

HERE = str(Path(__file__).parent)
PYTHON = tap.python_with("torch") if os.path.exists("/usr/bin/python3") else sys.executable

STANDIN = f"""
import sys
sys.path.insert(0, {HERE!r})
import standin_torch
torch = standin_torch.install(BACKEND)
"""


def script(folder, code):
    result = tap.run([PYTHON, "-c", code], cwd=folder)
    tap.equal(result.returncode, 0, result.stdout + result.stderr)
    return result.stdout


@tap.test("the walkthrough works: tracker on mps, thresholds, capture_oom, exports, analysis of the files")
def _(folder):
    script(folder, STANDIN.replace("BACKEND", "'mps'") + """
from stormlog import MemoryTracker

tracker = MemoryTracker(
    device="mps",
    sampling_interval=0.5,
    enable_alerts=True,
    enable_oom_flight_recorder=True,
    oom_dump_dir="artifacts/oom",
    job_id="stormlog-tutorial",
)
tracker.set_threshold("memory_warning_percent", 70.0)
tracker.set_threshold("memory_critical_percent", 85.0)
tracker.start_tracking()
try:
    with tracker.capture_oom(context="leaky-training"):
        for step in range(12):
            torch.state.allocate(1 << 30)
            tracker._tick()
            if step == 11:
                raise RuntimeError("MPS backend out of memory (Tried to allocate 64.00 MiB)")
except RuntimeError:
    pass
finally:
    tracker.stop_tracking()
tracker.export_events("artifacts/events.json", format="json")
tracker.export_events("artifacts/events.csv", format="csv")

import json, os
stats = tracker.get_statistics()
assert stats["peak_memory"] == 12 << 30, stats
assert [a.event_type for a in tracker.get_alerts()].count("warning") >= 1
assert os.path.isdir(stats["last_oom_dump_path"])
json.dump(tracker.get_memory_timeline(0.5), open("artifacts/timeline.json", "w"))

from stormlog import MemoryAnalyzer, load_telemetry_events
events = load_telemetry_events("artifacts/events.json")
assert len(events) == len(load_telemetry_events("artifacts/events.csv"))
report = MemoryAnalyzer().generate_optimization_report(events=events)
assert "gap_analysis" in report
""")
    tap.true((Path(folder) / "artifacts" / "events.csv").stat().st_size > 0, "artifacts")


@tap.test("the profiler documentation works: function, context, monitoring, summary, errors")
def _(folder):
    out = script(folder, STANDIN.replace("BACKEND", "'cuda'") + """
from gpumemprof import GPUMemoryProfiler

profiler = GPUMemoryProfiler(device="cuda:0", track_tensors=True, track_cpu_memory=True, collect_stack_traces=False)

def train_step(size):
    torch.state.allocate(size)
    torch.state.release(size // 2)

result = profiler.profile_function(train_step, 64 * 1024**2)
print(f"Memory allocated: {result.memory_allocated / 1024**2:.2f} MB")
print(f"Peak memory: {result.peak_memory_usage() / 1024**2:.2f} MB")
with profiler.profile_context(name="data_loading"):
    torch.state.allocate(1024)
profiler.start_monitoring(interval=0.1)
profiler.stop_monitoring()
assert len(profiler.snapshots) >= 1
summary = profiler.get_summary()
for name, stats in summary["function_summaries"].items():
    print(name, stats["call_count"], stats["avg_time"] >= 0, stats["peak_memory"])
print(summary["total_functions_profiled"], summary["net_memory_change"] // 1024**2)
try:
    profiler.profile_function(lambda: 1 / 0)
except ZeroDivisionError:
    print("memory at the error:", profiler.results[-1].memory_after.allocated_memory)
profiler.clear_results()
for device in (0, torch.device("cuda:0"), None):
    GPUMemoryProfiler(device=device)
""")
    tap.equal(out.splitlines()[:2], ["Memory allocated: 32.00 MB", "Peak memory: 64.00 MB"], "printed")


@tap.test("the training helpers work: figures for a log, a monitor with a snapshot")
def _(folder):
    script(folder, STANDIN.replace("BACKEND", "'cuda'") + """
import types, os
torch.cuda.memory = types.SimpleNamespace(_snapshot=lambda: {"segments": [], "device_traces": []})
from stormlog.metrics import (DeviceMemoryMonitor, format_memory_stats, get_memory_stats, get_memory_utilization,
                              reset_peak_memory)

torch.state.allocate(12 << 30)
stats = get_memory_stats(device=0)
assert set(stats) == {"allocated_gb", "peak_gb", "reserved_gb", "total_gb"}
assert get_memory_utilization(device=0) == stats["peak_gb"] / stats["total_gb"]
assert format_memory_stats(device=0).startswith("GPU mem: 12.0GB allocated")
reset_peak_memory(device=0)
mon = DeviceMemoryMonitor(device=0, snapshot_step=100, snapshot_dir="memory_snapshots")
for step in range(0, 201, 50):
    mon.report(step)
assert os.listdir("memory_snapshots") == ["snapshot_step_100_device_0.pickle"]
""")


@tap.test("the recipe works: a leak is found in a snapshot without torch's history")
def _(folder):
    out = script(folder, """
import stormlog
recording = stormlog.record(max_entries=100_000, cpu=True, dir="runs")
import torch
model = torch.nn.Linear(256, 256)
loss_history = []
for step in range(20):
    loss = model(torch.randn(64, 256)).mean()
    loss_history.append(loss)
    loss.backward()
    stormlog.step()
stormlog.snapshot("memory_snapshot.pkl")
recording.stop()

import pickle
with open("memory_snapshot.pkl", "rb") as f:
    snapshot = pickle.load(f)
blocks = [b for seg in snapshot["segments"] for b in seg["blocks"] if b["state"] == "active_allocated"]
blocks.sort(key=lambda b: b["size"], reverse=True)
frames = blocks[0].get("frames", [])
print(len(blocks) > 20, bool(frames))
""")
    tap.equal(out.strip(), "True True", "live blocks with their lines")


tap.main()
