# SPDX-License-Identifier: MIT
"""Formatting of numbers, and information about this machine and its device. torch is used if it is installed."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any, Dict, List, Optional, Tuple

from . import _process
from ._torch import torch_or_none

_UNITS = ("B", "KB", "MB", "GB", "TB", "PB")
_CONVERTIBLE = {unit: 1024 ** power for power, unit in enumerate(_UNITS[:5])}

MIB = 1024 ** 2


def format_bytes(bytes_value: float, precision: int = 2) -> str:
    """``1536`` -> ``1.50 KB``; binary steps, up to PB. Exactly 0 is ``0 B``; negative numbers are not scaled."""
    if bytes_value == 0:
        return "0 B"
    value, unit = float(bytes_value), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value /= 1024
        unit += 1
    return f"{value:.{precision}f} {_UNITS[unit]}"


def convert_bytes(value: float, from_unit: str, to_unit: str) -> float:
    """Between B, KB, MB, GB and TB, steps of 1024. ValueError for another unit."""
    for unit in (from_unit, to_unit):
        if unit not in _CONVERTIBLE:
            raise ValueError(f"Unknown unit {unit!r}; expected one of {', '.join(_CONVERTIBLE)}")
    return value * _CONVERTIBLE[from_unit] / _CONVERTIBLE[to_unit]


# --- devices -----------------------------------------------------------------------------------------------------


def _cuda_is_available() -> bool:
    torch = torch_or_none()
    try:
        return torch is not None and bool(torch.cuda.is_available())
    except Exception:  # a broken driver counts as no CUDA
        return False


def _mps_flags() -> Tuple[bool, bool]:
    """(available, built)."""
    backend = getattr(getattr(torch_or_none(), "backends", None), "mps", None)
    try:
        return bool(backend.is_available()), bool(backend.is_built())  # type: ignore[union-attr]
    except Exception:
        return False, False


def _device_index(device: Any) -> int:
    """The index of None, an integer, ``cuda:1`` or a torch.device."""
    torch = torch_or_none()
    if device is None:
        return int(torch.cuda.current_device())
    if isinstance(device, int):
        return device
    if isinstance(device, str):
        tail = device.rsplit(":", 1)[-1]
        return int(tail) if tail.isdigit() else 0
    index = getattr(device, "index", None)
    return int(torch.cuda.current_device()) if index is None else int(index)


def _driver_info(index: int) -> Optional[Dict[str, Any]]:
    """The driver's figures under the names of nvidia-smi, or None without a driver."""
    from . import _read

    try:
        found = _read.device_counters(index)
    except _read.StormlogError:
        return None
    used, total = found["used_bytes"], found["total_bytes"]
    power = found["power_mw"]
    return {
        "memory_total_mb": None if total is None else total // MIB,
        "memory_used_mb": None if used is None else used // MIB,
        "memory_free_mb": None if used is None or total is None else (total - used) // MIB,
        "gpu_utilization_percent": found["utilization_percent"],
        "temperature_c": found["temperature_c"],
        "power_draw_w": None if power is None else power / 1000,
    }


def get_gpu_info(device: Any = None) -> Dict[str, Any]:
    """Name, size and counters of a CUDA device; ``{"error": ...}`` where there is none. ImportError without torch."""
    torch = torch_or_none()
    if torch is None:
        raise ImportError("get_gpu_info needs PyTorch, which is not installed; pip install 'stormlog[torch]'")
    if not _cuda_is_available():
        return {"error": "CUDA is not available"}
    index = _device_index(device)
    properties = torch.cuda.get_device_properties(index)
    info: Dict[str, Any] = {
        "device_id": index,
        "device_name": torch.cuda.get_device_name(index),
        "device_capability": torch.cuda.get_device_capability(index),
        "total_memory": properties.total_memory,
        "multiprocessor_count": properties.multi_processor_count,
        "cuda_version": torch.version.cuda,
        "pytorch_version": torch.__version__,
    }
    try:
        info.update(_allocator_info(index))
    except Exception as error:
        info["memory_error"] = str(error)
    driver = _driver_info(index)
    if driver is not None:
        info["nvidia_smi_info"] = driver
    return info


def _allocator_info(index: int) -> Dict[str, Any]:
    torch = torch_or_none()
    stats = torch.cuda.memory_stats(index)
    return {
        "allocated_memory": torch.cuda.memory_allocated(index),
        "reserved_memory": torch.cuda.memory_reserved(index),
        "max_memory_allocated": torch.cuda.max_memory_allocated(index),
        "max_memory_reserved": torch.cuda.max_memory_reserved(index),
        "memory_stats": {
            "active_bytes": stats.get("active_bytes.all.current", 0),
            "inactive_bytes": stats.get("inactive_split_bytes.all.current", 0),
            "reserved_bytes": stats.get("reserved_bytes.all.current", 0),
            "num_alloc_retries": stats.get("num_alloc_retries", 0),
            "num_ooms": stats.get("num_ooms", 0),
        },
    }


def get_system_info() -> Dict[str, Any]:
    """The machine, its Python, its torch and the backend a tracker would choose."""
    torch = torch_or_none()
    hip_version = getattr(getattr(torch, "version", None), "hip", None)
    has_cuda = _cuda_is_available()
    is_rocm = has_cuda and bool(hip_version)
    mps_available, mps_built = _mps_flags()
    backend = "rocm" if is_rocm else "cuda" if has_cuda else "mps" if mps_available else "cpu"
    info: Dict[str, Any] = {
        "platform": platform.system(),
        "architecture": platform.machine(),
        "python_version": sys.version,
        "torch_available": torch is not None,
        "cuda_available": has_cuda,
        "rocm_available": is_rocm,
        "rocm_version": hip_version if is_rocm else None,
        "mps_available": mps_available,
        "mps_built": mps_built,
        "detected_backend": backend,
    }
    if has_cuda:
        info.update(cuda_device_count=torch.cuda.device_count(), cuda_version=torch.version.cuda,
                    cudnn_version=_cudnn_version(), current_device=torch.cuda.current_device())
    info.update(_host_info())
    return info


def _cudnn_version() -> Optional[int]:
    try:
        return torch_or_none().backends.cudnn.version()
    except Exception:
        return None


def _host_info() -> Dict[str, Any]:
    memory = _process.read_meminfo()
    if not memory.get("MemTotal"):
        return {"system_info_error": "this system has no /proc/meminfo"}
    available = memory.get("MemAvailable", memory.get("MemFree", 0))
    return {
        "cpu_count": _process.physical_cpu_count() or os.cpu_count(),
        "cpu_count_logical": os.cpu_count(),
        "memory_total": memory["MemTotal"],
        "memory_available": available,
        "memory_percent": round(100.0 * (memory["MemTotal"] - available) / memory["MemTotal"], 1),
    }


# --- fragmentation -----------------------------------------------------------------------------------------------


def check_memory_fragmentation(device: Any = None) -> Dict[str, Any]:
    """How much of the allocator's reserved memory is in use; ``{"error": ...}`` without CUDA."""
    info = get_gpu_info(device)
    if "error" in info or "memory_error" in info:
        return {"error": info.get("error") or info["memory_error"]}
    total, allocated, reserved = info["total_memory"], info["allocated_memory"], info["reserved_memory"]
    inactive = info["memory_stats"]["inactive_bytes"]
    sizes = {
        "total_memory": total,
        "allocated_memory": allocated,
        "reserved_memory": reserved,
        "active_memory": info["memory_stats"]["active_bytes"],
        "inactive_memory": inactive,
        "free_memory": total - reserved,
    }
    return {
        "device_id": info["device_id"],
        **sizes,
        "fragmentation_ratio": inactive / reserved if reserved else 0,
        "utilization_ratio": allocated / total if total else 0,
        "reservation_ratio": reserved / total if total else 0,
        "waste_ratio": (reserved - allocated) / total if total else 0,
        **{f"{name}_formatted": format_bytes(value) for name, value in sizes.items()},
    }


# key, whether the tip applies, the tip.
_TIPS = (
    ("fragmentation_ratio", lambda share: share > 0.3,
     "Over 30% of the reserved memory is inactive: reuse buffers of one size; `stormlog whatif` on a recording says whether "
     "an allocator setting would help."),
    ("utilization_ratio", lambda share: share > 0.9,
     "Over 90% of the device is in use: reduce the batch size, or trade time for memory with activation checkpointing."),
    ("waste_ratio", lambda share: share > 0.2,
     "Over 20% of the device is reserved without use: torch.cuda.empty_cache() after the largest phase returns it."),
    ("utilization_ratio", lambda share: share < 0.3,
     "Under 30% of the device is in use: a larger batch would fit."),
)
_GENERAL_TIPS = (
    "Run inference under torch.inference_mode() or torch.no_grad(), so that no graph is kept.",
    "Use mixed precision (torch.autocast) where the model tolerates it.",
    "Compare profiles of several points of a step; the peak is rarely where it is looked for.",
    "Delete large tensors as soon as they are not needed; a name in a long function keeps them alive.",
)


def suggest_memory_optimization(fragmentation_info: Dict[str, Any]) -> List[str]:
    """Tips that apply to the result of check_memory_fragmentation, then four that always do."""
    tips = [tip for key, applies, tip in _TIPS if applies(fragmentation_info.get(key, 0.5))]
    return tips + list(_GENERAL_TIPS)


def memory_summary(device: Any = None) -> str:
    """A page of text about a device."""
    found = check_memory_fragmentation(device)
    if "error" in found:
        return f"Memory summary unavailable: {found['error']}"
    rule = "=" * 60
    lines = [rule, "GPU Memory Summary", rule, f"Device: {found['device_id']}",
             f"Total Memory: {found['total_memory_formatted']}", ""]
    lines += [f"{label}: {found[name + '_memory_formatted']}"
              for label, name in (("Allocated", "allocated"), ("Reserved", "reserved"), ("Free", "free"))]
    lines.append("")
    lines += [f"{label}: {100 * found[key]:.1f}%"
              for label, key in (("Utilization", "utilization_ratio"), ("Reservation", "reservation_ratio"),
                                 ("Fragmentation", "fragmentation_ratio"), ("Waste", "waste_ratio"))]
    lines += ["", "Suggestions:"]
    lines += [f"  {number}. {tip}" for number, tip in enumerate(suggest_memory_optimization(found)[:5], 1)]
    return "\n".join(lines + [rule])


class MemoryContext:
    """Allocated bytes before, after and at the peak of a block.

        with MemoryContext("forward") as context: ...
        context.get_summary()
    """

    def __init__(self, name: str = "memory_context", device: Any = None) -> None:
        self.name = name
        self.device = device
        self.start_memory: Optional[int] = None
        self.end_memory: Optional[int] = None
        self.peak_memory: Optional[int] = None

    def __enter__(self) -> "MemoryContext":
        self.end_memory = self.peak_memory = None
        self._watch: Optional[_process.PeakWatch] = None
        torch = torch_or_none()
        if _cuda_is_available():
            torch.cuda.synchronize(self.device)
            torch.cuda.reset_peak_memory_stats(self.device)
            self.start_memory = torch.cuda.memory_allocated(self.device)
        else:
            self._watch = _process.PeakWatch()
            self.start_memory = _process.Process().memory_info().rss
            self._watch.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._watch is None:
            torch = torch_or_none()
            torch.cuda.synchronize(self.device)
            self.end_memory = torch.cuda.memory_allocated(self.device)
            self.peak_memory = torch.cuda.max_memory_allocated(self.device)
        else:
            self.end_memory = _process.Process().memory_info().rss
            self.peak_memory = max(self._watch.stop(), self.end_memory, self.start_memory or 0)

    def get_summary(self) -> Dict[str, Any]:
        if self.start_memory is None or self.end_memory is None or self.peak_memory is None:
            return {"error": "the context has not completed"}
        sizes = {
            "start_memory": self.start_memory,
            "end_memory": self.end_memory,
            "peak_memory": self.peak_memory,
            "memory_diff": self.end_memory - self.start_memory,
            "peak_memory_usage": self.peak_memory - self.start_memory,
        }
        return {"name": self.name, **sizes,
                **{f"{name}_formatted": format_bytes(value) for name, value in sizes.items()}}
