# SPDX-License-Identifier: MIT
"""A bundle to attach to an issue, about a process that uses TensorFlow; the files are those of stormlog.diagnose."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from ..diagnose import HIGH_UTILIZATION_RATIO, MANIFEST_VERSION, Parts, write_bundle
from ._counters import MB
from .utils import get_backend_info, get_gpu_info, get_system_info

__all__ = ["HIGH_UTILIZATION_RATIO", "MANIFEST_VERSION", "build_diagnostic_summary", "collect_environment", "run_diagnose",
           "run_timeline_capture"]


def collect_environment(device: Optional[str] = None) -> Dict[str, Any]:
    """``{system, gpu, fragmentation}`` of this process."""
    return {"system": get_system_info(), "gpu": get_gpu_info(),
            "fragmentation": {"note": "TensorFlow reports no reserved bytes, so fragmentation is not known"}}


def run_timeline_capture(device: Optional[str], duration_seconds: float, interval: float) -> Dict[str, List[float]]:
    """``{timestamps, allocated, reserved}`` in bytes; empty lists for 0 seconds and without TensorFlow."""
    empty: Dict[str, List[float]] = {"timestamps": [], "allocated": [], "reserved": []}
    if duration_seconds <= 0:
        return empty
    from .tracker import MemoryTracker

    try:
        tracker = MemoryTracker(device=device or "/GPU:0", sampling_interval=interval, alert_threshold_mb=None,
                                enable_logging=False)
    except ImportError:
        return empty
    tracker.start_tracking()
    try:
        time.sleep(duration_seconds)
    finally:
        result = tracker.stop_tracking()
    allocated = [float(value) * MB for value in result.memory_usage]
    return {"timestamps": list(result.timestamps), "allocated": allocated, "reserved": list(allocated)}


def _device_of(gpu: Dict[str, Any], device: Optional[str]) -> Dict[str, Any]:
    number = (device or "").rpartition(":")[2]
    index = int(number) if number.isdigit() else 0
    return gpu["devices"][index] if index < len(gpu["devices"]) else {}


def build_diagnostic_summary(device: Optional[str] = None) -> Tuple[Dict[str, Any], bool]:
    """The summary, and whether one of its flags is set. TensorFlow counts no failures and reports no reserved bytes: those
    figures are 0 and their flags False."""
    found = _device_of(get_gpu_info(), device)
    current, peak = found.get("current_memory_mb") or 0.0, found.get("peak_memory_mb") or 0.0
    total = found.get("total_memory_mb") or 0.0
    share = current / total if total else 0.0
    is_high = share >= HIGH_UTILIZATION_RATIO
    advice = ["Over 85% of the card is in use: mixed precision or a smaller batch leaves room"] if is_high else []
    return {
        "backend": get_backend_info()["runtime_backend"],
        "allocated_bytes": int(current * MB), "reserved_bytes": int(current * MB), "peak_bytes": int(peak * MB),
        "total_bytes": int(total * MB), "utilization_ratio": share, "fragmentation_ratio": 0.0, "num_ooms": 0,
        "risk_flags": {"oom_occurred": False, "high_utilization": is_high, "fragmentation_warning": False},
        "suggestions": advice,
    }, is_high


_PARTS = Parts("stormlog-tensorflow-diagnose", collect_environment, run_timeline_capture, build_diagnostic_summary)


def run_diagnose(output: Optional[Any], device: Optional[str], duration: float, interval: float,
                 command_line: str) -> Tuple[Path, int]:
    """Writes the four files. Returns the folder and 0 (fine) or 2 (a risk was found)."""
    return write_bundle(output, device, duration, interval, command_line, _PARTS)
