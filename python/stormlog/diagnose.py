# SPDX-License-Identifier: MIT
"""A bundle to attach to an issue, about this process: environment, a short timeline, a judgement.

`gpumemprof diagnose` writes the same files about a machine or another process; this module reads the counters of the process it
runs in, which no other program can read.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

from ._files import private_file_mode, private_folder_mode, write_json_whole
from ._torch import torch_or_none
from .utils import check_memory_fragmentation, get_gpu_info, get_system_info, suggest_memory_optimization

HIGH_UTILIZATION_RATIO = 0.85
FRAGMENTATION_WARNING_RATIO = 0.3
MANIFEST_VERSION = 1

_FILES = ("environment.json", "telemetry_timeline.json", "diagnostic_summary.json", "manifest.json")


def resolve_output_dir(output: Optional[Any], prefix: str = "stormlog-diagnose") -> Path:
    """A new path is used as it is; an existing folder gets a child named after the time. OSError for a file."""
    if output is not None and not Path(output).exists():
        path = Path(output)
    else:
        parent = Path(output) if output is not None else Path.cwd()
        if not parent.is_dir():
            raise NotADirectoryError(f"'{parent}' is a file, expected a folder or a new path")
        name = f"{prefix}-{datetime.now(timezone.utc).strftime('%Y%m%d-%H%M%S')}"
        candidates = (parent / (name if number == 0 else f"{name}-{number}") for number in range(10000))
        path = next(candidate for candidate in candidates if not candidate.exists())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=private_folder_mode())
    return path


def run_timeline_capture(device: Any, duration_seconds: float, interval: float) -> Dict[str, List[Any]]:
    """``{timestamps, allocated, reserved}`` of ``duration_seconds``; empty lists for 0."""
    if duration_seconds <= 0:
        return {"timestamps": [], "allocated": [], "reserved": []}
    backend = get_system_info()["detected_backend"]
    tracker: Any
    if backend == "cpu":
        from .cpu_profiler import CPUMemoryTracker

        tracker = CPUMemoryTracker(sampling_interval=interval)
    else:
        from .tracker import MemoryTracker

        tracker = MemoryTracker(device=device, sampling_interval=interval, enable_alerts=False)
    with tracker:
        time.sleep(duration_seconds)
    return tracker.get_memory_timeline(interval)


def build_environment(backend: str, device: Any = None) -> Dict[str, Any]:
    environment: Dict[str, Any] = {"system": get_system_info()}
    if backend == "mps":
        torch = torch_or_none()
        environment["gpu"] = {"backend": "mps", "device_id": 0,
                              "allocated_memory": torch.mps.current_allocated_memory(),
                              "reserved_memory": torch.mps.driver_allocated_memory(),
                              "total_memory": getattr(torch.mps, "recommended_max_memory", lambda: None)()}
        environment["fragmentation"] = {"note": "the MPS allocator does not report fragmentation"}
    elif backend == "cpu":
        environment["gpu"] = {"error": "no GPU backend is available"}
        environment["fragmentation"] = {"error": "no GPU backend is available"}
    else:
        environment["gpu"] = get_gpu_info(device)
        environment["fragmentation"] = check_memory_fragmentation(device)
    return environment


def _figures(backend: str, gpu: Dict[str, Any], fragmentation: Dict[str, Any]) -> Dict[str, Any]:
    allocated, reserved = gpu.get("allocated_memory", 0), gpu.get("reserved_memory", 0)
    peak = max(allocated, reserved) if backend == "mps" else gpu.get("max_memory_allocated", 0)
    total = gpu.get("total_memory") or 0
    return {
        "backend": backend,
        "allocated_bytes": allocated,
        "reserved_bytes": reserved,
        "peak_bytes": peak,
        "total_bytes": total,
        "utilization_ratio": allocated / total if total else 0.0,
        "fragmentation_ratio": fragmentation.get("fragmentation_ratio", 0.0),
        "num_ooms": gpu.get("memory_stats", {}).get("num_ooms", 0),
    }


def build_summary(backend: str, environment: Dict[str, Any]) -> Dict[str, Any]:
    """The figures, three risk flags and advice."""
    figures = _figures(backend, environment["gpu"], environment["fragmentation"])
    flags = {
        "oom_occurred": figures["num_ooms"] > 0,
        "high_utilization": figures["total_bytes"] > 0 and figures["utilization_ratio"] >= HIGH_UTILIZATION_RATIO,
        "fragmentation_warning": figures["fragmentation_ratio"] >= FRAGMENTATION_WARNING_RATIO,
    }
    has_ratios = "fragmentation_ratio" in environment["fragmentation"]
    suggestions = suggest_memory_optimization(environment["fragmentation"]) if has_ratios else []
    return {**figures, "risk_flags": flags, "suggestions": suggestions}


def collect_environment(device: Any = None) -> Dict[str, Any]:
    """``{system, gpu, fragmentation}`` of this process."""
    return build_environment(get_system_info()["detected_backend"], device)


def build_diagnostic_summary(device: Any = None) -> Tuple[Dict[str, Any], bool]:
    """The summary, and whether one of its flags is set."""
    backend = get_system_info()["detected_backend"]
    summary = build_summary(backend, build_environment(backend, device))
    return summary, any(summary["risk_flags"].values())


@dataclass(frozen=True)
class Parts:
    """The functions that fill the files of a bundle, and the first part of its folder's name."""

    prefix: str
    environment: Callable[[Any], Dict[str, Any]]
    timeline: Callable[[Any, float, float], Dict[str, List[Any]]]
    summary: Callable[[Any], Tuple[Dict[str, Any], bool]]


_PARTS = Parts("stormlog-diagnose", collect_environment, run_timeline_capture, build_diagnostic_summary)


def write_bundle(output: Optional[Any] = None, device: Any = None, duration: float = 5.0, interval: float = 0.5,
                 command_line: Optional[str] = None, parts: Parts = _PARTS) -> Tuple[Path, int]:
    """Writes the four files, the manifest last. Returns the folder and 0 (fine) or 2 (a risk was found). ValueError for a
    bad duration or interval, before anything is made."""
    if duration < 0:
        raise ValueError(f"duration must be >= 0, found {duration}")
    if interval <= 0:
        raise ValueError(f"interval must be > 0, found {interval}")
    folder = resolve_output_dir(output, parts.prefix)
    mode = private_file_mode()
    write_json_whole(folder / _FILES[0], parts.environment(device), mode)
    write_json_whole(folder / _FILES[1], parts.timeline(device, duration, interval), mode)
    summary, is_risk = parts.summary(device)
    write_json_whole(folder / _FILES[2], summary, mode)
    if command_line is None:
        command_line = " ".join(getattr(sys, "orig_argv", sys.argv))  # with the interpreter and its arguments
    write_json_whole(folder / _FILES[3], {
        "version": MANIFEST_VERSION,
        "created_iso": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "command_line": command_line,
        "files": list(_FILES),
        "exit_code": 2 if is_risk else 0,
        "risk_detected": is_risk,
    }, mode)
    return folder, 2 if is_risk else 0


def run_diagnose(output: Optional[Any], device: Any, duration: float, interval: float, command_line: str) -> Tuple[Path, int]:
    """write_bundle with the arguments of the Python tool."""
    return write_bundle(output, device, duration, interval, command_line)
