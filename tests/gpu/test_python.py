# SPDX-License-Identifier: MIT
"""Tracker and profiler on a real device, compared with torch's own counters. Argument: the build folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import tap

build = Path(sys.argv.pop(1))


def script(code):
    """Runs the code with a Python whose torch has CUDA; its last line as JSON."""
    python = tap.python_with("torch")
    env = {**os.environ, "PYTHONPATH": str(build / "python")}
    if tap.run([python, "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"], env=env).returncode:
        tap.skip("torch sees no CUDA device here")
    if not (build / "python" / "stormlog").exists():
        tap.skip("the Python packages were not built: Python.h was not found")
    result = tap.run([python, "-c", BEGIN + code], env=env, timeout=240)
    tap.equal(result.returncode, 0, result.stdout + result.stderr)
    return json.loads(result.stdout.strip().splitlines()[-1])


BEGIN = """
import json, os, tempfile, time
import torch
import stormlog
os.chdir(tempfile.mkdtemp(prefix="stormlog-test-"))
MIB = 1024 ** 2
def block(mib):
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")
"""


@tap.test("the tracker's peak equals torch's, even between two samples, and used bytes equal the driver's")
def _():
    found = script("""
kept = block(100)
tracker = stormlog.MemoryTracker(sampling_interval=3600, job_id="gpu")
torch.cuda.reset_peak_memory_stats()
tracker.start_tracking()
x = block(700); del x
tracker._tick()
free, total = torch.cuda.mem_get_info()
tracker.stop_tracking()
events = tracker.get_telemetry_events()
last = [event for event in events if event.event_type == "sample"][-1]
print(json.dumps([tracker.stats["peak_memory"], torch.cuda.max_memory_allocated(), last.device_used_bytes, total - free,
                  last.allocator_reserved_bytes, last.allocator_allocated_bytes, torch.cuda.memory_allocated(),
                  [event.event_type for event in events]]))
""")
    peak, torch_peak, used, driver, reserved, allocated, torch_allocated, types = found
    tap.equal(peak, torch_peak, "peak")
    tap.equal(allocated, torch_allocated, "allocated")
    tap.true(abs(used - driver) <= 64 * 1024 ** 2, f"used {used} is the driver's {driver}")
    tap.true(used > reserved, "the context and other hidden memory are in the used bytes")
    tap.equal((types[0], types[-1], "peak" in types), ("start", "stop", True), "types")


@tap.test("the tracker samples while the device works, at its interval")
def _():
    found = script("""
with stormlog.MemoryTracker(sampling_interval=0.01) as tracker:
    a = torch.randn(2048, 2048, device="cuda")
    for _ in range(200):
        b = a @ a
    torch.cuda.synchronize()
    time.sleep(0.3)
print(json.dumps([len(tracker.get_events("sample")), tracker.stats["sampling_failures"], tracker.get_statistics()["backend"]]))
""")
    tap.true(found[0] >= 5, f"samples: {found[0]}")
    tap.equal(found[1:], [0, "cuda"], "failures and backend")


@tap.test("a real out-of-memory error leaves a bundle that reports it")
def _():
    found = script("""
tracker = stormlog.MemoryTracker(sampling_interval=3600, enable_oom_flight_recorder=True)
torch.cuda.set_per_process_memory_fraction(0.02)
with tracker:
    kept = []
    try:
        with tracker.capture_oom(context="fill"):
            while True:
                kept.append(block(256))
    except torch.cuda.OutOfMemoryError:
        pass
    del kept
path = tracker.last_oom_dump_path
metadata = json.load(open(os.path.join(path, "metadata.json")))
print(json.dumps([metadata["reason"], sorted(os.listdir(path)), metadata["custom_metadata"]["sample_allocated_bytes"],
                  stormlog.analyze(path)["verdict"]]))
""")
    tap.equal(found[0], "torch.cuda.OutOfMemoryError", "reason")
    tap.equal(found[1], ["environment.json", "events.json", "manifest.json", "metadata.json"], "files")
    tap.true(found[2] > 256 * 1024 ** 2, "allocated at the failure")
    tap.equal(found[3], "oom", "verdict")


@tap.test("the profiler's peaks equal torch's, and nested contexts have their own peaks")
def _():
    found = script("""
profiler = stormlog.GPUMemoryProfiler()
def work():
    x = block(300); y = block(200); del x
    return y
result = profiler.profile_function(work)
torch_peak = torch.cuda.max_memory_allocated()
base = torch.cuda.memory_allocated()
with profiler.profile_context("outer"):
    x = block(800); del x
    with profiler.profile_context("inner"):
        y = block(50); del y
peaks = {r.function_name: r.peak_memory_usage() - base for r in profiler.results}
print(json.dumps([result.peak_memory_usage(), torch_peak, result.memory_allocated, peaks["outer"] // MIB, peaks["inner"] // MIB,
                  profiler.get_summary()["total_function_calls"]]))
""")
    tap.equal(found[0], found[1], "peak of a call")
    tap.equal(found[2:], [0, 800, 50, 3], "net, outer, inner, calls")


@tap.test("fragmentation, summary, driver figures and metrics work on CUDA")
def _():
    found = script("""
x = block(512); y = block(512); del x
from stormlog import metrics, utils
f = utils.check_memory_fragmentation()
info = utils.get_gpu_info()
stats = metrics.get_memory_stats(0)
print(json.dumps([f["allocated_memory"], torch.cuda.memory_allocated(), "Fragmentation" in utils.memory_summary(),
                  info.get("nvidia_smi_info", {}).get("memory_total_mb"), info["total_memory"] // MIB,
                  stats["allocated_gb"] * 1024, stormlog.diagnose.write_bundle("bundle", duration=0)[1]]))
""")
    tap.equal(found[0], found[1], "allocated")
    tap.equal(found[2], True, "summary")
    if found[3] is not None:
        tap.true(abs(found[3] - found[4]) < 4096, f"total by the driver {found[3]} and by torch {found[4]} MiB")
    tap.equal((found[5], found[6]), (512.0, 0), "metrics and diagnose")


@tap.test("a recording's snapshot equals torch's own state, and a monitor writes a snapshot at its step")
def _():
    found = script("""
with stormlog.record(dir="runs") as recording:
    kept = [block(10 + i) for i in range(5)]
    stormlog.step()
    stormlog.snapshot("ours.pickle")
report = stormlog.analyze("ours.pickle")
device = [d for d in report["devices"] if d["device"] == 0][0]
from stormlog.metrics import DeviceMemoryMonitor
monitor = DeviceMemoryMonitor(device=0, snapshot_step=7)
monitor.report(7)
theirs = stormlog.analyze(monitor.snapshot_path)
print(json.dumps([device["live_bytes"] or device["live_requested_bytes"], torch.cuda.memory_allocated(),
                  device["top_live"][0]["site"]["function"], [d for d in theirs["devices"] if d["device"] == 0][0]["live_bytes"]]))
""")
    tap.equal((found[0], found[3]), (found[1], found[1]), "live bytes: ours, torch's snapshot, torch's counter")
    tap.equal(found[2], "block", "the line")


tap.main()
