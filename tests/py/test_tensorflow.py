# SPDX-License-Identifier: MIT
"""The TensorFlow package with a simulated TensorFlow, because Debian has no package of the real one."""

import json
import os
import sys
import threading
import types

import standin_tensorflow

import tap

missing = tap.run([sys.executable, "-c", """
import os
from stormlog.tensorflow import TFMemoryProfiler, TensorFlowMemoryTracker, get_system_info
assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == "1"
for kind in (TFMemoryProfiler, TensorFlowMemoryTracker):
    try:
        kind()
    except ImportError as error:
        assert "TensorFlow not available" in str(error) and "stormlog[tf]" in str(error), error
    else:
        raise SystemExit("made without TensorFlow")
print(get_system_info()["tensorflow_version"])
"""])

tf = standin_tensorflow.install()

from stormlog import validate_telemetry_record  # noqa: E402
from stormlog.tensorflow import (TensorFlowAnalyzer, TensorFlowGapFinding, TensorFlowMemoryTracker,  # noqa: E402
                                 TensorFlowProfiler, TFMemoryProfiler)
from stormlog.tensorflow import context_profiler, utils  # noqa: E402
from stormlog.tensorflow.tracker import MemoryWatchdog, TrackingResult  # noqa: E402


def fresh():
    tf.state.__init__()


@tap.test("without TensorFlow the package can be imported, and its objects name what is missing")
def _():
    tap.equal((missing.returncode, missing.stdout.strip()), (0, "Not installed"), missing.stderr)


@tap.test("functions and with blocks are profiled, return their values and raise their errors")
def _():
    fresh()
    profiler = TFMemoryProfiler()
    tap.equal((profiler.device, tf.state.growth), ("/GPU:0", [("/physical_device:GPU:0", True)]), "device, growth")

    @profiler.profile_function
    def grow(megabytes):
        tf.state.set(megabytes)
        return megabytes

    tap.equal(grow(100), 100, "value")
    with profiler.profile_context("block"):
        tf.state.set(40)
    try:
        profiler.profile_function(lambda: 1 / 0)()
    except ZeroDivisionError:
        pass
    names = [snapshot.name for snapshot in profiler.snapshots]
    tap.equal(names, ["grow_before", "grow_after", "block_start", "block_end", "<lambda>_before", "<lambda>_error"], "names")
    result = profiler.get_results()
    tap.equal((result.peak_memory_mb, result.min_memory_mb, result.total_allocations, result.total_deallocations),
              (100.0, 0.0, 1, 1), "result")
    tap.equal((result.function_profiles["grow"]["calls"], result.function_profiles["grow"]["total_memory_used"]),
              (1, 100.0), "profile")
    profiler.reset()
    tap.equal(profiler.get_results().snapshots, [], "reset")


@tap.test("training and inference are profiled per step, also with the global profiler")
def _():
    fresh()
    done = []
    model = types.SimpleNamespace(train_on_batch=lambda x, y: done.append(x), predict_on_batch=lambda x: done.append(len(x)),
                                  fit=lambda x, y, **options: done.append(options["epochs"]))
    profiler = TensorFlowProfiler()
    profiler.profile_training(model, [(1, 1), (2, 2), (3, 3)], epochs=2, steps_per_epoch=2)
    profiler.profile_inference(model, list(range(70)), batch_size=32)
    tap.equal(done, [1, 2, 1, 2, 32, 32, 6], "batches")
    names = {row["name"] for row in context_profiler.get_profile_summaries()}
    tap.true({"training", "epoch_1", "step_0", "inference", "inference_batch_2"} <= names, f"contexts: {names}")
    tap.equal(len(context_profiler.get_profile_summaries(limit=2)), 2, "limit")
    context_profiler.profile_keras_training(model, [1], [1], epochs=3)

    @context_profiler.profile_function(name="named")
    def function():
        return 5

    layer = types.SimpleNamespace(name="dense", call=lambda value: value + 1)
    context_profiler.ProfiledLayer(layer)
    with context_profiler.profile_context("ctx"):
        tap.equal((function(), layer.call(1)), (5, 2), "values")
    names = {row["name"] for row in context_profiler.get_profile_summaries()}
    tap.true({"named", "ctx", "layer_dense", "keras_training"} <= names, f"names: {names}")
    context_profiler.clear_profiles()
    tap.equal(context_profiler.get_profile_summaries(), [], "cleared")
    context_profiler.clear_global_profiler()


@tap.test("the tracker's events are valid samples")
def _():
    fresh()
    tf.state.set(50)
    tracker = TensorFlowMemoryTracker(sampling_interval=3600.0, rank=1, world_size=2, job_id="j")
    enough = threading.Event()
    original = tracker._keep
    tracker._keep = lambda reading: (original(reading), enough.set())
    tracker.start_tracking()
    tap.true(enough.wait(30), "the first sample comes at once")
    result = tracker.stop_tracking()
    event = result.events[0]
    validate_telemetry_record(event)
    tap.equal((event["collector"], event["event_type"], event["allocator_allocated_bytes"], event["rank"], event["device_id"]),
              ("stormlog.tensorflow.memory_tracker", "sample", 50 * 1024 ** 2, 1, 0), "event")
    tap.equal((result.peak_memory, result.memory_usage, tracker.get_current_memory()), (50.0, [50.0], 50.0), "result")
    tf.state.fails = True
    tap.equal(tracker.get_current_memory(), 0.0, "no figures")
    try:
        TensorFlowMemoryTracker(sampling_interval=0)
    except ValueError as error:
        tap.contains(str(error), "sampling_interval")


@tap.test("an alert is raised once, until memory has fallen again")
def _():
    fresh()
    tracker = TensorFlowMemoryTracker(alert_threshold_mb=100, enable_logging=False)
    seen = []
    tracker.add_alert_callback(seen.append)
    for value in (50, 150, 160, 99, 150, 60, 150):
        tracker._check_alert(float(value), 0.0)
    tap.equal([alert["memory_mb"] for alert in seen], [150.0, 150.0], "99 is within the margin, 60 is not")
    tap.equal(set(seen[0]), {"timestamp", "memory_mb", "threshold_mb", "message"}, "keys")
    tracker.set_alert_threshold(None)
    tracker._check_alert(1e9, 0.0)
    tap.equal((len(seen), tracker.check_alerts()), (2, False), "no threshold")


@tap.test("on a host without a GPU the default is this process's memory")
def _():
    code = f"""
import sys
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
import standin_tensorflow
standin_tensorflow.install(gpus=0)
from stormlog.tensorflow import TensorFlowMemoryTracker
tracker = TensorFlowMemoryTracker()
print(tracker.device, tracker.get_current_memory() > 5)
"""
    result = tap.run([sys.executable, "-c", code])
    tap.equal(result.stdout.strip(), "/CPU:0 True", result.stderr)


@tap.test("a forced cleanup clears the session and calls the callbacks")
def _():
    fresh()
    dog = MemoryWatchdog()
    called = []
    dog.add_cleanup_callback(lambda: called.append(1))
    dog.add_cleanup_callback(lambda: 1 / 0)
    dog.force_cleanup()
    tap.equal((tf.state.sessions_cleared, called), (1, [1]), "cleaned")


def track(values):
    return TrackingResult(0.0, float(len(values)), list(map(float, values)), list(map(float, range(len(values)))),
                          peak_memory=float(max(values)))


@tap.test("growth, spikes and periodic patterns are found; too few samples give nothing")
def _():
    analyzer = TensorFlowAnalyzer()
    kinds = {leak["type"]: leak for leak in analyzer.detect_memory_leaks(track(range(10, 60)))}
    tap.equal((kinds["monotonic_increase"]["severity"], "insufficient_cleanup" in kinds), ("high", True), "growth")
    spikes = analyzer.detect_memory_leaks(track([10] * 30 + [500] + [10] * 5))
    tap.equal([(leak["type"], leak["spike_values"]) for leak in spikes], [("memory_spikes", [500.0])], "spike")
    tap.equal(analyzer.detect_memory_leaks(track([1] * 9)), [], "too few")
    waves = [pattern["type"] for pattern in analyzer.detect_patterns(track([10, 20, 30, 40, 50] * 8))]
    tap.equal(waves, ["periodic_pattern", "step_pattern"], "waves")


@tap.test("the score has its keys, and suggestions name the size of the spike")
def _():
    fresh()
    profiler = TFMemoryProfiler()
    for value in (100, 5000, 100):
        tf.state.set(value)
        profiler.capture_snapshot()
    result = profiler.get_results()
    analyzer = TensorFlowAnalyzer()
    tap.true(0 <= analyzer.analyze_fragmentation(result)["fragmentation_score"] <= 1, "share")
    report = analyzer.score_optimization(result)
    tap.equal(set(report), {"overall_score", "categories", "top_recommendations", "priority_actions"}, "keys")
    tap.equal(set(analyzer.score_optimization(result, events=[])) - set(report), {"gap_analysis", "collective_attribution"},
              "keys with events")
    tap.true(any("4000" in text for text in utils.suggest_optimizations(result)), "suggestion")
    tap.contains(utils.generate_summary_report(result), "Peak Memory: 5000.00 MB")
    tap.true(TensorFlowGapFinding.__name__ == "GapFinding", "shared class")


@tap.test("formatting, device, system and session utilities work")
def _():
    fresh()
    tap.equal([utils.format_memory(value) for value in (None, 0, 1536, 3 * 1024 ** 5)],
              ["N/A", "0.00 B", "1.50 KB", "3.00 PB"], "texts")
    tf.state.set(10)
    info = utils.get_gpu_info()
    tap.equal((info["available"], info["count"], info["devices"][0]["current_memory_mb"]), (True, 1, 10.0), "gpu")
    tap.equal(utils.get_backend_info()["runtime_backend"], "cuda", "backend")
    tap.equal(utils.get_system_info()["tf_cuda_version"], "12.0", "system")
    usage = utils.get_tensorflow_memory_usage()
    tap.equal((usage["gpu_current_mb"], usage["gpu_peak_mb"], usage["cpu_mb"] > 5), (10.0, 10.0, True), "usage")
    utils.clear_tensorflow_session()
    tap.equal(tf.state.sessions_cleared, 1, "session")
    tap.equal(utils.validate_tensorflow_environment(),
              {"tensorflow_available": True, "gpu_available": True, "memory_growth_enabled": True, "version_compatible": False,
               "issues": ["TensorFlow 0.0-standin is older than 2.4"]}, "environment")
    snapshots = [types.SimpleNamespace(gpu_memory_mb=used, gpu_memory_reserved_mb=100.0) for used in (50.0, 75.0)]
    tap.equal(utils.analyze_fragmentation(snapshots), {"fragmentation_score": 0.375, "fragmentation_trend": 0.0,
              "max_fragmentation": 0.5, "min_fragmentation": 0.25}, "fragmentation")
    tap.equal(utils.analyze_fragmentation([]), {"fragmentation_score": 0.0, "fragmentation_trend": 0.0}, "nothing")
    tap.equal(utils.optimize_tensorflow_memory(), ["Enabled memory growth for /physical_device:GPU:0"], "growth")


@tap.test("stormlog.tensorflow.diagnose writes the four files, and judges the device that was named")
def _(folder):
    from stormlog.tensorflow import diagnose

    place, code = diagnose.run_diagnose(os.path.join(folder, "new"), "/GPU:0", 0, 0.1, "the command")
    summary = json.load(open(place / "diagnostic_summary.json"))
    manifest = json.load(open(place / "manifest.json"))
    tap.equal((sorted(path.name for path in place.iterdir()), code, manifest["command_line"]),
              (["diagnostic_summary.json", "environment.json", "manifest.json", "telemetry_timeline.json"], 0, "the command"), "bundle")
    tap.equal((summary["risk_flags"]["high_utilization"], summary["num_ooms"]), (False, 0), "summary")
    tap.true(diagnose.run_diagnose(folder, None, 0, 0.1, "")[0].name.startswith("stormlog-tensorflow-diagnose-"), "name")
    timeline = diagnose.run_timeline_capture("/GPU:0", 0.3, 0.1)
    tap.true(timeline["allocated"] and timeline["allocated"] == timeline["reserved"], f"{timeline}")


tap.main()
