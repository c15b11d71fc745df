# SPDX-License-Identifier: MIT
"""Every name that users of the Python tool import is here, with its signature; importing costs nothing and needs nothing."""

import inspect
import os
import subprocess
import sys

import tap

EXPORTS = """GPUMemoryProfiler MemorySnapshot ProfileResult profile_context profile_function MemoryVisualizer MemoryAnalyzer
GapFinding MemoryTracker OOMFlightRecorder OOMFlightRecorderConfig OOMExceptionClassification classify_oom_exception
TelemetryEventV2 DeviceMemoryCollector DeviceMemorySample build_device_memory_collector detect_torch_runtime_backend
CPUMemoryProfiler CPUMemoryTracker telemetry_event_from_record telemetry_event_to_dict validate_telemetry_record
load_telemetry_events resolve_distributed_identity get_gpu_info format_bytes convert_bytes""".split()

TF_EXPORTS = """__version__ TensorFlowProfiler TFMemoryProfiler TensorFlowMemoryTracker TensorFlowVisualizer
TensorFlowAnalyzer TensorFlowGapFinding get_system_info""".split()

# name: parameters with their defaults, as they are written.
SIGNATURES = {
    "stormlog.tracker.MemoryTracker": "device=None, sampling_interval=0.1, max_events=10000, enable_alerts=True, "
    "enable_oom_flight_recorder=False, oom_dump_dir='oom_dumps', oom_buffer_size=None, oom_max_dumps=5, "
    "oom_max_total_mb=256, job_id=None, rank=None, local_rank=None, world_size=None",
    "stormlog.tracker.MemoryTracker.get_events": "self, event_type=None, last_n=None, since=None",
    "stormlog.tracker.MemoryTracker.get_alerts": "self, last_n=None",
    "stormlog.tracker.MemoryTracker.get_memory_timeline": "self, interval=1.0",
    "stormlog.tracker.MemoryTracker.export_events": "self, filename, format='csv'",
    "stormlog.tracker.MemoryTracker.handle_exception": "self, exc, context=None, metadata=None",
    "stormlog.tracker.MemoryTracker.capture_oom": "self, context='runtime', metadata=None",
    "stormlog.tracker.MemoryTracker.get_statistics": "self",
    "stormlog.tracker.MemoryTracker.clear_events": "self",
    "stormlog.tracker.MemoryTracker.start_tracking": "self",
    "stormlog.tracker.MemoryTracker.stop_tracking": "self",
    "stormlog.tracker.MemoryWatchdog": "tracker, auto_cleanup=True, cleanup_threshold=0.9, "
    "aggressive_cleanup_threshold=0.95",
    "stormlog.tracker.MemoryWatchdog.force_cleanup": "self, aggressive=False",
    "stormlog.tracker.MemoryWatchdog.get_cleanup_stats": "self",
    "stormlog.profiler.GPUMemoryProfiler": "device=None, track_tensors=True, track_cpu_memory=True, "
    "collect_stack_traces=False",
    "stormlog.profiler.GPUMemoryProfiler.profile_function": "self, func, *args, **kwargs",
    "stormlog.profiler.GPUMemoryProfiler.profile_context": "self, name='context'",
    "stormlog.profiler.GPUMemoryProfiler.start_monitoring": "self, interval=0.1",
    "stormlog.profiler.GPUMemoryProfiler.get_summary": "self",
    "stormlog.profiler.GPUMemoryProfiler.clear_results": "self",
    "stormlog.profiler.TensorTracker.count_tensors": "self",
    "stormlog.context_profiler.profile_function": "func=None, *, name=None, device=None, profiler=None",
    "stormlog.context_profiler.profile_context": "name='context', device=None, profiler=None",
    "stormlog.context_profiler.get_global_profiler": "device=None",
    "stormlog.context_profiler.set_global_profiler": "profiler",
    "stormlog.context_profiler.start_monitoring": "interval=0.1, device=None",
    "stormlog.context_profiler.stop_monitoring": "",
    "stormlog.context_profiler.get_summary": "",
    "stormlog.context_profiler.clear_results": "",
    "stormlog.context_profiler.get_profile_results": "limit=None",
    "stormlog.context_profiler.MemoryProfiler": "device=None",
    "stormlog.context_profiler.profile_model_training": "model, train_loader, epochs=1, device=None",
    "stormlog.cpu_profiler.CPUMemoryProfiler": "",
    "stormlog.cpu_profiler.CPUMemoryTracker": "sampling_interval=0.5, max_events=10000, enable_alerts=True, job_id=None, "
    "rank=None, local_rank=None, world_size=None",
    "stormlog.cpu_profiler.CPUMemoryTracker.export_events_with_timestamp": "self, directory, format='csv'",
    "stormlog.cpu_profiler.CPUMemorySnapshot": "timestamp, rss, vms, cpu_percent",
    "stormlog.cpu_profiler.CPUProfileResult": "name, duration, snapshot_before, snapshot_after, peak_rss",
    "stormlog.analyzer.MemoryAnalyzer": "profiler=None, collective_sensitivity='medium', "
    "collective_threshold_overrides=None",
    "stormlog.analyzer.MemoryAnalyzer.generate_optimization_report": "self, results=None, events=None",
    "stormlog.collective_attribution.resolve_collective_attribution_config": "preset='medium', overrides=None",
    "stormlog.collective_attribution.attribute_collective_memory": "events, *, config=None, preset='medium', "
    "overrides=None",
    "stormlog.distributed_analysis.merge_cross_rank_timelines": "events",
    "stormlog.distributed_analysis.analyze_cross_rank_events": "events",
    "stormlog.distributed_analysis.summarize_cross_rank_analysis": "events",
    "stormlog.oom_flight_recorder.OOMFlightRecorderConfig": "enabled=False, dump_dir='oom_dumps', buffer_size=10000, "
    "max_dumps=5, max_total_mb=256",
    "stormlog.oom_flight_recorder.OOMFlightRecorder.dump": "self, *, reason, exception, context, backend, metadata=None",
    "stormlog.telemetry.telemetry_event_from_record": "record, permissive_legacy=True, "
    "default_collector='legacy.unknown', default_sampling_interval_ms=0",
    "stormlog.telemetry.load_telemetry_events": "path, permissive_legacy=True, events_key=None",
    "stormlog.telemetry.resolve_distributed_identity": "*, job_id=None, rank=None, local_rank=None, world_size=None, "
    "metadata=None, env=None",
    "stormlog.utils.format_bytes": "bytes_value, precision=2",
    "stormlog.utils.convert_bytes": "value, from_unit, to_unit",
    "stormlog.utils.get_gpu_info": "device=None",
    "stormlog.utils.get_system_info": "",
    "stormlog.utils.check_memory_fragmentation": "device=None",
    "stormlog.utils.suggest_memory_optimization": "fragmentation_info",
    "stormlog.utils.memory_summary": "device=None",
    "stormlog.utils.MemoryContext": "name='memory_context', device=None",
    "stormlog.device_collectors.build_device_memory_collector": "device=None",
    "stormlog.device_collectors.detect_torch_runtime_backend": "",
    "stormlog.visualizer.MemoryVisualizer": "profiler=None",
    "stormlog.visualizer.MemoryVisualizer.plot_memory_timeline": "self, results=None, snapshots=None, save_path=None, "
    "interactive=True",
    "stormlog.visualizer.MemoryVisualizer.plot_cross_rank_timeline": "self, events, save_path=None",
    "stormlog.visualizer.MemoryVisualizer.plot_function_comparison": "self, results=None, metric='memory_allocated', "
    "save_path=None, interactive=True",
    "stormlog.visualizer.MemoryVisualizer.plot_memory_heatmap": "self, results=None, save_path=None",
    "stormlog.visualizer.MemoryVisualizer.create_dashboard": "self, results=None, snapshots=None, save_path=None",
    "stormlog.visualizer.MemoryVisualizer.export_data": "self, results=None, snapshots=None, format='csv', "
    "save_path='memory_profile_data'",
    "stormlog.visualizer.MemoryVisualizer.show": "self, fig",
    "stormlog.tensorflow.profiler.TFMemoryProfiler": "device=None, enable_tensor_tracking=True",
    "stormlog.tensorflow.profiler.TFMemoryProfiler.capture_snapshot": "self, name='snapshot'",
    "stormlog.tensorflow.profiler.TFMemoryProfiler.profile_context": "self, name='context'",
    "stormlog.tensorflow.profiler.TFMemoryProfiler.start_continuous_profiling": "self, interval=1.0",
    "stormlog.tensorflow.profiler.TensorFlowProfiler": "device=None",
    "stormlog.tensorflow.profiler.TensorFlowProfiler.profile_training": "self, model, dataset, epochs=1, "
    "steps_per_epoch=None",
    "stormlog.tensorflow.profiler.TensorFlowProfiler.profile_inference": "self, model, data, batch_size=32",
    "stormlog.tensorflow.tracker.MemoryTracker": "sampling_interval=1.0, alert_threshold_mb=None, device=None, "
    "enable_logging=True, job_id=None, rank=None, local_rank=None, world_size=None",
    "stormlog.tensorflow.tracker.MemoryWatchdog": "max_memory_mb=8000, cleanup_threshold_mb=6000, check_interval=5.0",
    "stormlog.tensorflow.analyzer.MemoryAnalyzer": "sensitivity=0.05, collective_sensitivity='medium', "
    "collective_threshold_overrides=None",
    "stormlog.tensorflow.analyzer.MemoryAnalyzer.score_optimization": "self, profile_result, events=None",
    "stormlog.tensorflow.context_profiler.profile_function": "func=None, *, profiler=None, name=None",
    "stormlog.tensorflow.context_profiler.ProfiledLayer": "layer, profiler=None, name=None",
    "stormlog.tensorflow.context_profiler.profile_keras_training": "model, x_train, y_train, epochs=1, batch_size=32, "
    "validation_data=None, profiler=None",
    "stormlog.tensorflow.context_profiler.get_profile_summaries": "limit=None",
    "stormlog.tensorflow.visualizer.MemoryVisualizer": "style='default', figure_size=(12, 8)",
    "stormlog.metrics.DeviceMemoryMonitor": "device=None, snapshot_step=None, snapshot_dir='memory_snapshots'",
    "stormlog.metrics.DeviceMemoryMonitor.report": "self, step",
    "stormlog.metrics.get_memory_stats": "device=None",
    "stormlog.metrics.get_memory_utilization": "device=None",
    "stormlog.metrics.format_memory_stats": "device=None",
    "stormlog.metrics.reset_peak_memory": "device=None",
    "stormlog.metrics.MetricsTracker": "device=None, log_interval=10",
    "stormlog.metrics.MetricsTracker.end_step": "self, step, loss=None, grad_norm=None, lr=None, tokens_in_step=None",
    "stormlog.MemoryTracker.export_artifacts": "self, folder",
}

# Names that can be imported but have no signature to compare.
REACHABLE = """stormlog.tracker.TrackingEvent stormlog.context_profiler.ProfiledModule stormlog.analyzer.MemoryPattern
stormlog.analyzer.PerformanceInsight stormlog.gap_analysis.analyze_hidden_memory_gaps
stormlog.device_collectors.CudaDeviceCollector stormlog.device_collectors.ROCmDeviceCollector
stormlog.device_collectors.MPSDeviceCollector stormlog.telemetry.SCHEMA_VERSION_V2 stormlog.telemetry.UNKNOWN_PID
stormlog.telemetry.UNKNOWN_HOST stormlog.cli.main stormlog.tensorflow.cli.main stormlog.tui.run_app
stormlog.tui.distributed_diagnostics.build_distributed_model
stormlog.tensorflow.utils.format_memory stormlog.tensorflow.utils.get_gpu_info
stormlog.tensorflow.utils.get_backend_info stormlog.tensorflow.utils.suggest_optimizations
stormlog.tensorflow.utils.generate_summary_report stormlog.tensorflow.utils.optimize_tensorflow_memory
stormlog.tensorflow.utils.get_tensorflow_memory_usage stormlog.tensorflow.utils.clear_tensorflow_session
stormlog.tensorflow.utils.validate_tensorflow_environment stormlog.tensorflow.utils.analyze_fragmentation
stormlog.record stormlog.snapshot stormlog.step stormlog.mark stormlog.phase stormlog.health stormlog.analyze
stormlog.diff stormlog.whatif stormlog.export""".split()

BLOCK_TORCH = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, Blocker())
"""


def resolve(path):
    """The object of a dotted path; modules are imported, the rest is attributes."""
    import importlib

    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for name in parts[count:]:
            thing = getattr(thing, name)
        return thing
    raise AssertionError(f"no module of {path}")


def parameters(thing):
    """"a, b=1, *, c=2" without annotations."""
    signature = inspect.signature(thing)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))[1:-1]


def python(code):
    return tap.run([sys.executable, "-c", code], env=dict(os.environ))


@tap.test("stormlog exports the 28 names, and gpumemprof the same objects")
def _():
    import gpumemprof
    import stormlog

    tap.equal(sorted(stormlog.__all__), sorted(EXPORTS), "stormlog.__all__")
    for name in EXPORTS:
        tap.true(getattr(stormlog, name) is getattr(gpumemprof, name), f"gpumemprof.{name} is stormlog's")
    tap.true(isinstance(stormlog.__version__, str) and stormlog.__author__, "version and author")


def takes(thing, wanted):
    """Whether a call as the Python tool allows it ("a, b=, *, c=") is possible here, by position and by name."""
    parts = wanted.split(", ") if wanted else []
    keyword = parts[parts.index("*") + 1:] if "*" in parts else []
    plain = [part for part in parts[:len(parts) - len(keyword)] if part != "*"]
    signature = inspect.signature(thing)
    for given in ([part for part in plain if not part.endswith("=")], plain):
        names = [part.rstrip("=") for part in given]
        if any(name.startswith("*") for name in names):
            continue  # takes everything
        is_method = names[:1] == ["self"]
        words = {part.rstrip("="): 0 for part in keyword}
        bound = signature.bind(*[0] * len(names), **words)
        signature.bind(*[0] * is_method, **{name: 0 for name in names[is_method:]}, **words)
        if [name for name in bound.arguments][:len(names)] != names:
            return False
    return True


@tap.test("every call that version 0.2.9 of the Python tool allows is allowed here")
def _():
    # A line each: module.name(parameters); "=" marks those that may be left out.
    path = os.path.join(os.environ["STORMLOG_TEST_DATA"], "peer", "names-0.2.9.txt")
    failed = []
    for line in open(path).read().splitlines():
        name, _, wanted = line[:-1].partition("(")
        try:
            if not takes(resolve(name), wanted):
                failed.append(f"{line}: other names")
        except (AttributeError, AssertionError, TypeError) as error:
            failed.append(f"{line}: {error}")
    tap.equal(failed, [], "calls")


@tap.test("stormlog.tensorflow exports its names without TensorFlow")
def _():
    import stormlog.tensorflow as tensorflow

    tap.equal(sorted(tensorflow.__all__), sorted(TF_EXPORTS), "__all__")
    for name in TF_EXPORTS:
        getattr(tensorflow, name)


@tap.test("every signature matches the specification")
def _():
    wrong = []
    for path, expected in SIGNATURES.items():
        found = parameters(resolve(path))
        if found != expected:
            wrong.append(f"{path}\n  expected ({expected})\n  found    ({found})")
    tap.true(not wrong, "equal signatures:\n" + "\n".join(wrong))


@tap.test("every other documented name can be imported and has a docstring")
def _():
    for path in REACHABLE:
        resolve(path)
    undocumented = [path for path in [*SIGNATURES, *REACHABLE]
                    if not isinstance(resolve(path), (int, str)) and path.count(".") < 3
                    and not inspect.getdoc(resolve(path))]
    tap.equal([path for path in undocumented if "tensorflow" not in path and "context_profiler" not in path], [],
              "names without a docstring")


@tap.test("an unknown name raises AttributeError")
def _():
    import stormlog

    try:
        stormlog.no_such_name
    except AttributeError as error:
        tap.contains(str(error), "no_such_name")
    else:
        raise AssertionError("expected an AttributeError")


@tap.test("importing stormlog, and the parts that do not need torch, does not import torch")
def _():
    result = python("import sys, stormlog, gpumemprof; stormlog.format_bytes(1); stormlog.CPUMemoryTracker; "
                    "stormlog.MemoryAnalyzer; stormlog.load_telemetry_events; stormlog.record; "
                    "print('torch' in sys.modules, 'numpy' in sys.modules)")
    tap.equal(result.stdout.strip(), "False False", result.stderr)


@tap.test("without torch, names that need it raise an ImportError that names the extra to install")
def _():
    result = python(BLOCK_TORCH + """
import stormlog
for name in ("GPUMemoryProfiler", "MemoryTracker", "profile_function", "build_device_memory_collector"):
    try:
        getattr(stormlog, name)
    except ImportError as error:
        assert "stormlog[torch]" in str(error), error
    else:
        raise SystemExit(f"{name} resolved without torch")
print(stormlog.format_bytes(0), stormlog.utils.get_system_info()["torch_available"])
from stormlog.tracker import MemoryTracker
with MemoryTracker(device="cpu", sampling_interval=0.01):
    pass
stormlog.MemoryAnalyzer().generate_optimization_report(events=[])
""")
    tap.equal((result.returncode, result.stdout.strip()), (0, "0 B False"), result.stderr)


@tap.test("from stormlog import * gives all names")
def _():
    result = python("from stormlog import *\nprint(MemoryVisualizer.__name__, format_bytes(2048))")
    tap.equal(result.stdout.strip(), "MemoryVisualizer 2.00 KB", result.stderr)


@tap.test("submodules are attributes of the package")
def _():
    result = python("import stormlog; print(stormlog.metrics.__name__, stormlog.tensorflow.__name__)")
    tap.equal(result.stdout.strip(), "stormlog.metrics stormlog.tensorflow", result.stderr)


@tap.test("gpumemprof's submodules are stormlog's modules")
def _():
    result = python("from gpumemprof.utils import format_bytes; import gpumemprof.tracker, stormlog.tracker; "
                    "print(gpumemprof.tracker is stormlog.tracker, stormlog.tracker.__spec__.name)\n"
                    "try:\n import gpumemprof.nothing\nexcept ModuleNotFoundError: print('refused')")
    tap.equal(result.stdout.split(), ["True", "stormlog.tracker", "refused"], result.stderr)


tap.main()
