# SPDX-License-Identifier: MIT
"""Number formats, devices and reports for TensorFlow. Functions that do not need TensorFlow work without it."""

from __future__ import annotations

import gc
import importlib.util
import logging
import os
import platform
import sys
from types import SimpleNamespace
from typing import Any, Dict, List, Optional, Sequence

from .. import _process
from ._counters import MB, need_tensorflow, read_device, tensorflow_or_none
from .analyzer import MemoryAnalyzer

_UNITS = ("B", "KB", "MB", "GB", "TB", "PB")
_MAX_SUGGESTIONS = 10
_LOGGER = logging.getLogger(__name__)


def format_memory(bytes_value: Optional[float]) -> str:
    """``None`` -> ``N/A``, ``0`` -> ``0.00 B``, up to PB."""
    if bytes_value is None:
        return "N/A"
    value, unit = float(bytes_value), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value /= 1024
        unit += 1
    return f"{value:.2f} {_UNITS[unit]}"


def get_gpu_info() -> Dict[str, Any]:
    """Devices and their counters. ``total_memory`` is the sum of the devices' peaks, in bytes, because TensorFlow does not
    report sizes; the driver's are in each device's ``total_memory_mb`` if it is available."""
    info: Dict[str, Any] = {"available": False, "count": 0, "devices": [], "driver_version": None, "cuda_version": None,
                            "total_memory": 0}
    tensorflow = tensorflow_or_none()
    if tensorflow is None:
        return {**info, "error": "TensorFlow not available"}
    try:
        gpus = tensorflow.config.list_physical_devices("GPU")
        info.update(available=bool(gpus), count=len(gpus),
                    cuda_version=tensorflow.sysconfig.get_build_info().get("cuda_version"))
    except Exception as error:
        return {**info, "error": str(error)}
    for index, gpu in enumerate(gpus):
        reading = read_device(f"/GPU:{index}")
        info["devices"].append({
            "id": index, "name": getattr(gpu, "name", f"GPU:{index}"),
            "current_memory_mb": reading.current / MB if reading else 0.0,
            "peak_memory_mb": reading.peak / MB if reading else 0.0,
            "total_memory_mb": reading.total / MB if reading and reading.total else None})
        info["total_memory"] += reading.peak if reading else 0
    return info


def get_backend_info() -> Dict[str, Any]:
    tensorflow = tensorflow_or_none()
    build = _build_info(tensorflow)
    runtime = len(tensorflow.config.list_physical_devices("GPU")) if tensorflow is not None else 0
    is_apple = platform.system() == "Darwin" and platform.machine() == "arm64"
    has_metal = importlib.util.find_spec("tensorflow_metal") is not None
    kind = "cpu"
    if runtime:
        kind = next((name for name, is_it in (("cuda", build.get("is_cuda_build")), ("rocm", build.get("is_rocm_build")),
                                              ("metal", has_metal or is_apple)) if is_it), "gpu")
    return {
        "is_apple_silicon": is_apple,
        "hardware_gpu_detected": is_apple or os.path.exists("/dev/nvidia0") or os.path.exists("/dev/kfd"),
        "runtime_gpu_count": runtime,
        "runtime_backend": kind,
        "is_cuda_build": bool(build.get("is_cuda_build")),
        "is_rocm_build": bool(build.get("is_rocm_build")),
        "is_tensorrt_build": bool(build.get("is_tensorrt_build")),
        "tensorflow_metal_installed": has_metal,
    }


def _build_info(tensorflow: Any) -> Dict[str, Any]:
    try:
        return dict(tensorflow.sysconfig.get_build_info())
    except Exception:
        return {}


def get_system_info() -> Dict[str, Any]:
    tensorflow = tensorflow_or_none()
    build = _build_info(tensorflow)
    memory = _process.read_meminfo()
    total, available = memory.get("MemTotal", 0), memory.get("MemAvailable", 0)
    return {
        "platform": platform.platform(),
        "python_version": sys.version,
        "tensorflow_version": getattr(tensorflow, "__version__", "Not installed"),
        "cpu_count": os.cpu_count(),
        "total_memory_gb": total / 1024 ** 3,
        "available_memory_gb": available / 1024 ** 3,
        "memory_percent_used": round(100 * (total - available) / total, 1) if total else 0.0,
        "tf_build_cuda": bool(build.get("is_cuda_build")),
        "tf_cuda_version": build.get("cuda_version"),
        "tf_cudnn_version": build.get("cudnn_version"),
        "gpu": get_gpu_info(),
        "backend": get_backend_info(),
    }


def analyze_fragmentation(snapshots: Sequence[Any]) -> Dict[str, float]:
    """The unused share of the reserved memory: mean, change from the first five to the last five, largest, smallest. Two keys,
    both 0, when fewer than two snapshots have reserved bytes."""
    found = MemoryAnalyzer().analyze_fragmentation(SimpleNamespace(snapshots=snapshots))
    if sum(snapshot.gpu_memory_reserved_mb > 0 for snapshot in snapshots) < 2:
        return {"fragmentation_score": 0.0, "fragmentation_trend": 0.0}
    return {"fragmentation_trend" if key == "trend" else key: value for key, value in found.items()}


def suggest_optimizations(profile_result: Any) -> List[str]:
    """At most ten sentences; none when nothing stands out."""
    result = profile_result
    peak = getattr(result, "peak_memory_mb", None) or getattr(result, "peak_memory", 0.0)
    advice = [
        (peak > 8000, "The peak is above 8000 MB: use gradient checkpointing or a smaller batch"),
        (4000 < peak <= 8000, "The peak is above 4000 MB: mixed precision would halve the activations"),
        (result.memory_growth_rate > 100, "Memory grows by over 100 MB/s: look for tensors kept across steps"),
        (MemoryAnalyzer().analyze_fragmentation(result)["fragmentation_score"] > 0.3,
         "Over 30% of the peak is unused on average: enable memory growth and keep shapes fixed"),
    ]
    found = [text for applies, text in advice if applies]
    for name, profile in getattr(result, "function_profiles", {}).items():
        if profile["peak_memory"] > 2000:
            found.append(f"{name} peaks above 2000 MB: split it or recompute its activations")
        if profile["calls"] > 100:
            found.append(f"{name} was called {profile['calls']} times: a tf.function avoids new graphs and buffers")
    return found[:_MAX_SUGGESTIONS]


def generate_summary_report(profile_result: Any) -> str:
    result = profile_result
    lines = ["TensorFlow Memory Summary", "=" * 50, f"Duration: {result.duration:.2f} s",
             f"Peak Memory: {result.peak_memory_mb:.2f} MB", f"Average Memory: {result.average_memory_mb:.2f} MB",
             f"Memory Allocations: {result.total_allocations}", f"Memory Deallocations: {result.total_deallocations}"]
    lines += [f"  {number}. {text}" for number, text in enumerate(suggest_optimizations(result), 1)]
    return "\n".join(lines)


def _grow(tensorflow: Any, gpu: Any) -> bool:
    try:
        tensorflow.config.experimental.set_memory_growth(gpu, True)
    except Exception as error:
        _LOGGER.warning("memory growth of %s could not be enabled: %s", gpu.name, error)
        return False
    return True


def optimize_tensorflow_memory() -> List[str]:
    """Enables memory growth for every GPU, and nothing that changes results; returns what was done, [] without TensorFlow."""
    tensorflow = tensorflow_or_none()
    gpus = tensorflow.config.list_physical_devices("GPU") if tensorflow is not None else []
    return [f"Enabled memory growth for {gpu.name}" for gpu in gpus if _grow(tensorflow, gpu)]


def get_tensorflow_memory_usage(device: str = "/GPU:0") -> Dict[str, float]:
    """MB: of the device, and the resident size of this process."""
    reading = read_device(device)
    return {"gpu_current_mb": reading.current / MB if reading else 0.0, "gpu_peak_mb": reading.peak / MB if reading else 0.0,
            "cpu_mb": _process.Process().memory_info().rss / MB}


def clear_tensorflow_session() -> None:
    need_tensorflow().keras.backend.clear_session()
    gc.collect()


def _is_recent(version: str) -> bool:
    """2.4 or newer."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    return numbers >= [2, 4]


def validate_tensorflow_environment() -> Dict[str, Any]:
    """Enables memory growth where there are GPUs, as the Python tool does."""
    found: Dict[str, Any] = {"tensorflow_available": False, "gpu_available": False, "memory_growth_enabled": False,
                             "version_compatible": False, "issues": []}
    tensorflow = tensorflow_or_none()
    if tensorflow is None:
        return {**found, "issues": ["TensorFlow not installed"]}
    gpus = tensorflow.config.list_physical_devices("GPU")
    is_recent = _is_recent(tensorflow.__version__)
    has_growth = bool(gpus) and all([_grow(tensorflow, gpu) for gpu in gpus])
    issues = [(is_recent, f"TensorFlow {tensorflow.__version__} is older than 2.4"), (bool(gpus), "No GPU devices found"),
              (has_growth or not gpus, "Could not enable GPU memory growth")]
    return {"tensorflow_available": True, "gpu_available": bool(gpus), "memory_growth_enabled": has_growth,
            "version_compatible": is_recent, "issues": [text for is_fine, text in issues if not is_fine]}
