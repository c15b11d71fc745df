# SPDX-License-Identifier: MIT
"""Profilers: on this process's memory, and on a simulated device."""

import json
import logging
import os
import shutil
import sys
import threading
from pathlib import Path

import standin_torch
import tap

torch = standin_torch.install("cuda")

from stormlog import CPUMemoryProfiler, GPUMemoryProfiler, convert_bytes, format_bytes, profile_context  # noqa: E402
from stormlog import context_profiler, metrics, utils  # noqa: E402
from stormlog import profile_function as decorate  # noqa: E402

MIB = 1024 ** 2


def fresh(**options):
    torch.state.__init__()
    return GPUMemoryProfiler(**options)


def spend(peak, left=0):
    torch.state.allocate(peak)
    torch.state.release(peak - left)
    return "value"


@tap.test("a profiled call has its memory before, after, at its peak, and the difference")
def _():
    profiler = fresh()
    torch.state.allocate(100)
    result = profiler.profile_function(spend, 50, left=20)
    tap.equal((result.function_name, result.memory_allocated, result.memory_freed, result.memory_diff(),
               result.peak_memory_usage()), ("spend", 20, 0, 20, 150), "numbers")
    tap.equal([result.memory_before.operation, result.memory_after.operation, result.memory_peak.operation],
              ["before_spend", "after_spend", "peak_spend"], "labels")
    tap.true(result.memory_before.cpu_memory > 0, "main memory")
    freed = profiler.profile_function(torch.state.release, 30)
    tap.equal((freed.memory_allocated, freed.memory_freed), (0, 30), "freed")


@tap.test("an error in a profiled call leaves a result and is raised unchanged")
def _():
    profiler = fresh()
    error = ValueError("mine")

    def fail():
        torch.state.allocate(10)
        raise error

    try:
        profiler.profile_function(fail)
    except ValueError as caught:
        tap.true(caught is error, "the same error")
    result = profiler.results[-1]
    tap.equal((result.memory_allocated, result.memory_after.operation, result.memory_peak.operation,
               result.memory_after.allocated_memory), (0, "after_fail_error", "peak_fail_error", 10), "result")


@tap.test("nested and overlapping regions keep their own peaks")
def _():
    profiler = fresh()
    with profiler.profile_context("outer"):
        spend(1000)
        with profiler.profile_context("inner"):
            spend(10)
        with profiler.profile_context("second"):
            spend(20)
    peaks = {result.function_name: result.peak_memory_usage() for result in profiler.results}
    tap.equal(peaks, {"inner": 10, "second": 20, "outer": 1000}, "peaks")
    first = profiler.profile_context("first")
    other = profiler.profile_context("other")
    first.__enter__()
    spend(300)
    other.__enter__()
    spend(100)
    first.__exit__(None, None, None)
    spend(200)
    other.__exit__(None, None, None)
    peaks = {result.function_name: result.peak_memory_usage() for result in profiler.results[-2:]}
    tap.equal(peaks, {"first": 300, "other": 200}, "overlapping")


@tap.test("the summary adds up, results can be cleared, and unknown devices are refused")
def _():
    profiler = fresh()
    tap.equal(list(profiler.get_summary()), ["message"], "nothing yet")
    for _ in range(2):
        profiler.profile_function(spend, 50, left=5)
    summary = profiler.get_summary()
    tap.equal((summary["total_function_calls"], summary["total_memory_allocated"], summary["peak_memory_usage"],
               summary["function_summaries"]["spend"]["call_count"], summary["device"]), (2, 10, 55, 2, "cuda:0"), "sums")
    profiler.clear_results()
    tap.equal((profiler.results, list(profiler.get_summary())), ([], ["message"]), "cleared")
    for device, kind in (("cpu", ValueError), ("cuda:7", ValueError), (5, ValueError)):
        try:
            GPUMemoryProfiler(device=device)
        except kind:
            continue
        raise AssertionError(f"{device} was accepted")


@tap.test("monitoring collects snapshots without synchronizing the device, and the summary shows them")
def _():
    profiler = fresh()
    torch.state.allocate(77)
    before = torch.state.synchronized
    enough = threading.Event()
    original = profiler._take_snapshot

    def take(*args, **options):
        if len(profiler.snapshots) >= 4:
            enough.set()
        return original(*args, **options)

    profiler._take_snapshot = take
    profiler.start_monitoring(0.001)
    tap.true(enough.wait(30), "snapshots come")
    profiler.stop_monitoring()
    tap.equal(torch.state.synchronized, before, "synchronisations")
    summary = profiler.get_summary()
    tap.equal((summary["snapshots_collected"] >= 4, summary["peak_memory_usage"], summary["monitoring_active"]),
              (True, 77, False), "summary without a profiled call")
    tap.equal(profiler.snapshots[0].operation, "monitor", "operation")


@tap.test("stack traces show the program's frames, not the profiler's")
def _():
    profiler = fresh(collect_stack_traces=True)
    result = profiler.profile_function(spend, 1)
    tap.contains(result.memory_before.stack_trace, "test_profilers.py")
    tap.true("stormlog/profiler.py" not in result.memory_before.stack_trace, "no frame of the package")


@tap.test("decorators run the function once and return its value, and use the global profiler")
def _():
    torch.state.__init__()
    context_profiler.set_global_profiler(None)
    tap.equal(list(context_profiler.get_summary()), ["message"], "none yet")
    calls = []

    @decorate
    def plain(value):
        calls.append(value)
        return spend(9)

    @decorate(name="other")
    def named():
        return 5

    tap.equal((plain(1), named(), calls), ("value", 5, [1]), "values")
    tap.equal((plain._is_profiled, named._profile_name, plain.__name__), (True, "other", "plain"), "attributes")
    with profile_context("block") as profiler:
        tap.true(profiler is context_profiler.get_global_profiler(), "the global one")
    names = [result.function_name for result in context_profiler.get_profile_results()]
    tap.equal(names, ["plain", "other", "block"], "results")
    tap.equal(len(context_profiler.get_profile_results(limit=1)), 1, "limit")
    context_profiler.clear_results()
    tap.equal(context_profiler.get_profile_results(), [], "cleared")


@tap.test("modules can be wrapped, and results saved and read")
def _(folder):
    torch.state.__init__()

    class Net(torch.nn.Module):
        color = "red"

        def forward(self, value):
            return spend(value)

    facade = context_profiler.MemoryProfiler()
    wrapped = facade.wrap_module(Net())
    tap.equal((wrapped(40), wrapped.color), ("value", "red"), "value and attributes")
    with facade.context("c"):
        pass
    tap.equal([result.function_name for result in facade.profiler.results], ["Net_forward", "c"], "names")
    path = Path(folder) / "r.json"
    facade.save_results(path)
    tap.equal((sorted(facade.load_results(path)), facade.load_results(path)["results"][0]["peak_memory_usage"]),
              (["results", "snapshots", "summary"], 40), "saved")


# --- main memory -------------------------------------------------------------------------------------------------


def fill(size):
    block = bytearray(size)
    for at in range(0, size, 4096):
        block[at] = 1


@tap.test("CPUMemoryProfiler sees the peak inside a call")
def _():
    profiler = CPUMemoryProfiler()
    result = profiler.profile_function(fill, 96 * MIB)
    tap.true(result.peak_rss - result.snapshot_before.rss > 80 * MIB, f"peak {result.to_dict()}")
    tap.true(abs(result.memory_diff()) < 40 * MIB, "it was given back")
    tap.equal(set(result.to_dict()), {"name", "duration", "memory_diff", "peak_rss", "before", "after"}, "keys")
    with profiler.profile_context("outer"):
        with profiler.profile_context("inner"):
            fill(MIB)
    tap.equal([r.name for r in profiler.results], ["fill", "inner", "outer"], "names")
    try:
        profiler.profile_function(lambda: 1 / 0)
    except ZeroDivisionError:
        pass
    tap.equal(len(profiler.results), 3, "an error leaves no result")


@tap.test("CPU monitoring collects snapshots, and refuses an interval that is not positive")
def _():
    profiler = CPUMemoryProfiler()
    for interval in (0, -1):
        try:
            profiler.start_monitoring(interval)
        except ValueError as error:
            tap.contains(str(error), "interval")
        else:
            raise AssertionError("expected a ValueError")
    profiler.start_monitoring(0.001)
    profiler.start_monitoring(0.001)
    fill(8 * MIB)
    profiler.stop_monitoring()
    profiler.stop_monitoring()
    summary = profiler.get_summary()
    tap.equal((summary["mode"], summary["snapshots_collected"] >= 1, summary["peak_memory_usage"] > 0),
              ("cpu", True, True), "summary")
    profiler.clear_results()
    tap.equal(profiler.get_summary()["snapshots_collected"], 0, "cleared")


# --- utilities and metrics ---------------------------------------------------------------------------------------


@tap.test("bytes are formatted as text and converted between units")
def _():
    cases = {0: "0 B", 512: "512.00 B", 1536: "1.50 KB", 1024 ** 6: "1024.00 PB", -5 * MIB: "-5242880.00 B"}
    for value, text in cases.items():
        tap.equal(format_bytes(value), text, str(value))
    tap.equal(format_bytes(1536, precision=0), "2 KB", "precision")
    tap.equal(convert_bytes(2, "GB", "MB"), 2048.0, "GB to MB")
    for units in (("gb", "MB"), ("GB", "PB")):
        try:
            convert_bytes(1, *units)
        except ValueError:
            continue
        raise AssertionError(f"{units} was accepted")


@tap.test("device information, fragmentation, advice and summary match the device's counters")
def _():
    torch.state.__init__()
    torch.state.allocate(8 * MIB)
    torch.state.release(6 * MIB)
    info = utils.get_gpu_info("cuda:0")
    tap.equal((info["device_name"], info["allocated_memory"], info["memory_stats"]["inactive_bytes"]),
              ("Stand-in", 2 * MIB, 6 * MIB), "info")
    found = utils.check_memory_fragmentation()
    tap.equal((found["fragmentation_ratio"], found["free_memory"], found["reserved_memory_formatted"]),
              (0.75, torch.state.total - 8 * MIB, "8.00 MB"), "fragmentation")
    tips = utils.suggest_memory_optimization(found)
    tap.equal(len(tips), 6, "two that apply and four general ones")
    tap.contains(tips[0], "`stormlog whatif`")
    tap.true(not any("expandable_segments" in tip for tip in tips), "no setting is recommended without proof")
    page = utils.memory_summary()
    tap.contains(page, "Fragmentation: 75.0%")
    tap.equal(page.splitlines()[0], "=" * 60, "banner")
    with utils.MemoryContext("m") as context:
        tap.equal("error" in context.get_summary(), True, "not complete")
        spend(4 * MIB, left=MIB)
    summary = context.get_summary()
    tap.equal((summary["memory_diff"], summary["peak_memory_usage"]), (MIB, 4 * MIB), "context")


@tap.test("system information names the backend that a tracker would use")
def _():
    info = utils.get_system_info()
    tap.equal((info["detected_backend"], info["torch_available"], info["cuda_device_count"]), ("cuda", True, 2), "info")
    tap.true(info["memory_total"] > info["memory_available"] > 0, "memory")
    json.dumps(info)


@tap.test("figures of a step: the run's peak until it is reset, None for what is not known, a log line per interval")
def _():
    torch.state.__init__()
    tracker = metrics.MetricsTracker(device=0, log_interval=2)
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    metrics.logger.addHandler(handler)
    metrics.logger.setLevel(logging.INFO)
    torch.state.allocate(2 * 1024 ** 3)
    torch.state.release(1024 ** 3)
    first = tracker.end_step(0)
    tap.equal((first.step, first.step_time_sec, first.loss, first.tokens_per_sec), (0, None, None, None), "nothing was given")
    tap.equal((first.allocated_gb, first.peak_gb, first.mem_utilization), (1.0, 2.0, 0.125), "memory")
    tracker.start_step()
    second = tracker.end_step(1, loss=0.5, grad_norm=1.5, lr=1e-3, tokens_in_step=100)
    tap.true(second.step_time_sec >= 0 and second.tokens_per_sec > 0 and second.peak_gb == 2.0, "timed, and the same peak")
    metrics.reset_peak_memory(0)
    tap.equal(tracker.end_step(2, loss=0.5).peak_gb, 1.0, "after a reset")
    metrics.logger.removeHandler(handler)
    tap.equal(lines, ["[step 0] mem 2.0/16GB", "[step 2] loss 0.5, mem 1.0/16GB"], "lines")
    tap.equal(second.to_dict()["grad_norm"], 1.5, "as a dict")
    try:
        metrics.MetricsTracker(log_interval=0)
    except ValueError as error:
        tap.contains(str(error), "log_interval must be >= 1, found 0")
    else:
        raise AssertionError("log_interval=0 was accepted")


@tap.test("metrics have four figures and a line of text, and a monitor reports the peak per interval")
def _(folder):
    torch.state.__init__()
    torch.state.allocate(2 << 30)
    torch.state.release(1 << 30)
    tap.equal(metrics.get_memory_stats(0), {"allocated_gb": 1.0, "peak_gb": 2.0, "reserved_gb": 2.0, "total_gb": 16.0},
              "stats")
    tap.equal(metrics.get_memory_utilization(0), 0.125, "utilization")
    tap.equal(metrics.format_memory_stats(0),
              "GPU mem: 1.0GB allocated, 2.0GB peak, 2.0GB reserved / 16.0GB total (12%)", "line")
    monitor = metrics.DeviceMemoryMonitor(device=0, snapshot_step=2, snapshot_dir=folder)
    tap.equal(monitor.report(1)["peak_gb"], 2.0, "first interval")
    tap.equal(monitor.report(2)["peak_gb"], 1.0, "its own peak; the snapshot that the stand-in cannot give is no error")
    tap.equal(monitor.snapshot_path, None, "no snapshot")
    tap.equal(monitor.snapshot_name(2), "snapshot_step_2_device_0.pickle", "name")
    torch.cuda.memory = type("memory", (), {"_snapshot": staticmethod(lambda: {"segments": [], "device_traces": []})})
    again = metrics.DeviceMemoryMonitor(device="cuda:1", snapshot_step=5, snapshot_dir=Path(folder) / "new")
    os.environ.update(RANK="3", WORLD_SIZE="4")
    try:
        again.report(5)
        again.report(5)
    finally:
        del os.environ["RANK"], os.environ["WORLD_SIZE"]
    tap.equal(os.path.basename(again.snapshot_path), "snapshot_step_5_rank_3_device_1.pickle", "with ranks")
    tap.equal(os.listdir(Path(folder) / "new"), ["snapshot_step_5_rank_3_device_1.pickle"], "once")


@tap.test("diagnose writes its files to the given folder, and its exit code reports a risk")
def _(folder):
    from stormlog import diagnose

    torch.state.__init__()
    tap.equal(set(diagnose.collect_environment()), {"system", "gpu", "fragmentation"}, "environment")
    tap.equal(diagnose.build_diagnostic_summary()[1], False, "no risk")
    tap.equal(diagnose.run_timeline_capture(None, 0, 0.1), {"timestamps": [], "allocated": [], "reserved": []}, "timeline of no time")
    known, _ = diagnose.run_diagnose(str(Path(folder) / "known"), None, 0, 0.1, "the command")
    tap.equal(json.loads((known / "manifest.json").read_text())["command_line"], "the command", "command line")
    shutil.rmtree(known)
    place, code = diagnose.write_bundle(Path(folder) / "new", duration=0)
    tap.equal((code, sorted(os.listdir(place))), (0, sorted(diagnose._FILES)), "new path")
    manifest = json.loads((place / "manifest.json").read_text())
    tap.equal((manifest["version"], manifest["exit_code"], manifest["files"][-1]), (1, 0, "manifest.json"), "manifest")
    torch.state.allocate(int(torch.state.total * 0.9))
    child, code = diagnose.write_bundle(folder, duration=0)
    tap.equal((code, child.parent, child.name.startswith("stormlog-diagnose-")), (2, Path(folder), True), "risk")
    flags = json.loads((child / "diagnostic_summary.json").read_text())["risk_flags"]
    tap.equal(flags, {"oom_occurred": False, "high_utilization": True, "fragmentation_warning": False}, "flags")
    for options in ({"duration": -1}, {"interval": 0}):
        try:
            diagnose.write_bundle(Path(folder) / "never", **options)
        except ValueError:
            continue
        raise AssertionError(f"{options} was accepted")
    tap.equal((Path(folder) / "never").exists(), False, "nothing made")


tap.main()
