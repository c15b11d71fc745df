# SPDX-License-Identifier: MIT
"""stormlog: what a training process does with GPU memory, recorded and explained.

Every public name is resolved at first use, so ``import stormlog`` costs milliseconds and never imports torch.

    tracker = stormlog.MemoryTracker(device="cuda")     # samples, alerts, out-of-memory bundles
    with stormlog.record(): ...                         # every allocation, into a file that survives kill -9
    stormlog.snapshot("snap.pickle")                    # PyTorch's snapshot format
    stormlog.analyze("snap.pickle")                     # the report of `stormlog analyze`, as a dict

The names of ``__all__`` are those of the Python tool of the same name; docs/python.md lists what was added.
"""

from __future__ import annotations

import importlib
from typing import Any, List

__author__ = "The stormlog authors"

# name: module of this package that has it. Names in _NEED_TORCH refuse to resolve without torch.
_EXPORTS = {
    "GPUMemoryProfiler": "profiler",
    "MemorySnapshot": "profiler",
    "ProfileResult": "profiler",
    "profile_context": "context_profiler",
    "profile_function": "context_profiler",
    "MemoryVisualizer": "visualizer",
    "MemoryAnalyzer": "analyzer",
    "GapFinding": "gap_analysis",
    "MemoryTracker": "tracker",
    "OOMFlightRecorder": "oom_flight_recorder",
    "OOMFlightRecorderConfig": "oom_flight_recorder",
    "OOMExceptionClassification": "oom_flight_recorder",
    "classify_oom_exception": "oom_flight_recorder",
    "TelemetryEventV2": "telemetry",
    "DeviceMemoryCollector": "device_collectors",
    "DeviceMemorySample": "device_collectors",
    "build_device_memory_collector": "device_collectors",
    "detect_torch_runtime_backend": "device_collectors",
    "CPUMemoryProfiler": "cpu_profiler",
    "CPUMemoryTracker": "cpu_profiler",
    "telemetry_event_from_record": "telemetry",
    "telemetry_event_to_dict": "telemetry",
    "validate_telemetry_record": "telemetry",
    "load_telemetry_events": "telemetry",
    "resolve_distributed_identity": "telemetry",
    "get_gpu_info": "utils",
    "format_bytes": "utils",
    "convert_bytes": "utils",
}

# What this implementation adds.
_ADDITIONS = {
    "record": "recording",
    "Recording": "recording",
    "snapshot": "recording",
    "step": "recording",
    "mark": "recording",
    "phase": "recording",
    "health": "recording",
    "analyze": "reports",
    "diff": "reports",
    "whatif": "reports",
    "export": "reports",
    "page": "reports",
    "check": "reports",
    "load_ipython_extension": "integrations.jupyter",
    "unload_ipython_extension": "integrations.jupyter",
    "StormlogError": "_read",
    "UsageError": "_read",
    "FileError": "_read",
    "MissingFileError": "_read",
    "FormatError": "_read",
    "SystemCallError": "_read",
    "DeviceError": "_read",
    "LimitError": "_read",
    "InternalError": "_read",
}

_NEED_TORCH = frozenset({
    "GPUMemoryProfiler", "MemorySnapshot", "ProfileResult", "profile_context", "profile_function", "MemoryTracker",
    "DeviceMemoryCollector", "DeviceMemorySample", "build_device_memory_collector", "detect_torch_runtime_backend",
})

_SUBMODULES = frozenset({
    "analyzer", "artifacts", "cli", "collective_attribution", "context_profiler", "cpu_profiler", "device_collectors", "diagnose",
    "distributed_analysis", "gap_analysis", "integrations", "metrics", "oom_flight_recorder", "profiler", "recording", "reports",
    "telemetry", "tensorflow", "tracker", "tui", "utils", "visualizer",
})

__all__ = list(_EXPORTS)


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("stormlog")
    except metadata.PackageNotFoundError:
        pass
    try:
        from ._read import __version__ as built
    except ImportError:
        return "0+unknown"
    return built


def _require_torch(name: str) -> None:
    try:
        importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "torch":
            raise
        raise ImportError(f"stormlog.{name} needs PyTorch, which is not installed; "
                          "pip install 'stormlog[torch]'. CPUMemoryTracker and CPUMemoryProfiler work without it") from error


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = _version()
    elif name in _EXPORTS or name in _ADDITIONS:
        if name in _NEED_TORCH:
            _require_torch(name)
        value = getattr(importlib.import_module(f"{__name__}.{_EXPORTS.get(name) or _ADDITIONS[name]}"), name)
    elif name in _SUBMODULES:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted({*globals(), *_EXPORTS, *_ADDITIONS, *_SUBMODULES, "__version__"})
