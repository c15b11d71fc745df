# SPDX-License-Identifier: MIT
"""Where a tracker's numbers come from: the framework's allocator and, if available, the driver.

On CUDA and ROCm ``used_bytes`` is what the driver reports as in use on the device, by all processes: the difference to
``reserved_bytes`` is the hidden memory (contexts, communication buffers, other libraries, other processes).
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from ._collectors import CPUDeviceCollector, DeviceMemoryCollector, DeviceMemorySample

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

__all__ = ["CPUDeviceCollector", "CudaDeviceCollector", "DeviceMemoryCollector", "DeviceMemorySample",
           "MPSDeviceCollector", "ROCmDeviceCollector", "build_device_memory_collector",
           "detect_torch_runtime_backend"]


_OFFER = 'MemoryTracker("cpu") watches main memory'


class CudaDeviceCollector(DeviceMemoryCollector):
    """torch.cuda's counters, one call per sample, and the driver's free memory."""

    _name = "cuda"
    telemetry_collector = "stormlog.cuda_tracker"
    _sampling_source = "torch.cuda.memory_allocated/reserved"

    def __init__(self, device: Any = None) -> None:
        self.device = _resolve_device(device)
        index = getattr(self.device, "index", None)
        self.device_id = int(torch.cuda.current_device() if index is None else index)
        self._peak: Optional[int] = None
        self._used_source = "allocator"

    def name(self) -> str:
        return self._name

    def is_available(self) -> bool:
        return bool(torch.cuda.is_available())

    def sample(self) -> DeviceMemorySample:
        stats = torch.cuda.memory_stats(self.device_id) if hasattr(torch.cuda, "memory_stats") else {}
        allocated = stats.get("allocated_bytes.all.current")
        reserved = stats.get("reserved_bytes.all.current")
        if allocated is None or reserved is None:  # torch before 1.4, or CUDA not initialised
            allocated, reserved = torch.cuda.memory_allocated(self.device_id), torch.cuda.memory_reserved(self.device_id)
        self._peak = stats.get("allocated_bytes.all.peak")
        total, free = self._ask_driver()
        used = max(allocated, reserved) if free is None else total - free
        if total is not None:
            used = min(used, total)
        return DeviceMemorySample(
            allocated_bytes=int(allocated), reserved_bytes=int(reserved), used_bytes=int(used),
            free_bytes=None if total is None else int(max(total - used, 0)), total_bytes=total,
            active_bytes=int(stats.get("active_bytes.all.current", 0)),
            inactive_bytes=int(stats.get("inactive_split_bytes.all.current", 0)), device_id=self.device_id)

    def _ask_driver(self) -> Tuple[Optional[int], Optional[int]]:
        """(total, free). Free is None if the call would create a CUDA context that the program has not made itself, or if torch
        is too old for the call."""
        is_initialized = getattr(torch.cuda, "is_initialized", lambda: True)()
        if is_initialized and hasattr(torch.cuda, "mem_get_info"):
            free, total = torch.cuda.mem_get_info(self.device_id)
            self._used_source = "driver"
            return int(total), int(free)
        self._used_source = "allocator"
        total = getattr(torch.cuda.get_device_properties(self.device_id), "total_memory", None)
        return None if total is None else int(total), None

    def capabilities(self) -> Dict[str, Any]:
        return {
            "backend": self._name,
            "supports_device_total": True,
            "supports_device_free": True,
            "sampling_source": self._sampling_source,
            "telemetry_collector": self.telemetry_collector,
        }

    def peak_bytes(self) -> Optional[int]:
        return self._peak

    def used_source(self) -> str:
        return self._used_source


class ROCmDeviceCollector(CudaDeviceCollector):
    """The same on AMD devices, where torch.cuda uses HIP."""

    _name = "rocm"
    telemetry_collector = "stormlog.rocm_tracker"
    _sampling_source = "torch.cuda.memory_* (HIP runtime)"


class MPSDeviceCollector(DeviceMemoryCollector):
    """torch.mps's counters; the machine has only one such device."""

    telemetry_collector = "stormlog.mps_tracker"

    def __init__(self, device: Any = None) -> None:
        self.device = _resolve_device("mps" if device is None else device)
        self.device_id = 0

    def name(self) -> str:
        return "mps"

    def is_available(self) -> bool:
        return _is_mps_available()

    def _total(self) -> Optional[int]:
        ask = getattr(torch.mps, "recommended_max_memory", None)
        total = int(ask()) if ask is not None else 0
        return total if total > 0 else None

    def sample(self) -> DeviceMemorySample:
        allocated = int(torch.mps.current_allocated_memory())
        reserved = int(torch.mps.driver_allocated_memory())
        total = self._total()
        used = max(allocated, reserved)
        if total is not None:
            used = min(used, total)
        return DeviceMemorySample(allocated, reserved, used, None if total is None else max(total - used, 0), total,
                                  None, None, self.device_id)

    def capabilities(self) -> Dict[str, Any]:
        has_total = hasattr(torch.mps, "recommended_max_memory")
        return {
            "backend": "mps",
            "supports_device_total": has_total,
            "supports_device_free": has_total,
            "sampling_source": "torch.mps.current_allocated_memory/driver_allocated_memory",
            "telemetry_collector": self.telemetry_collector,
        }


# --- choosing ----------------------------------------------------------------------------------------------------


def _is_mps_available() -> bool:
    backend = getattr(getattr(torch, "backends", None), "mps", None)
    return backend is not None and bool(backend.is_available())


def detect_torch_runtime_backend() -> str:
    """``rocm``, ``cuda``, ``mps`` or ``cpu``."""
    if torch is not None and torch.cuda.is_available():
        return "rocm" if getattr(torch.version, "hip", None) else "cuda"
    return "mps" if torch is not None and _is_mps_available() else "cpu"


def _resolve_device(device: Any) -> Any:
    if torch is None:
        raise ImportError("device collectors need PyTorch, which is not installed; pip install 'stormlog[torch]'")
    backend = detect_torch_runtime_backend()
    if device is None:
        if backend == "cpu":
            raise RuntimeError(f"PyTorch finds no GPU here; {_OFFER}")
        return torch.device("mps") if backend == "mps" else torch.device("cuda", torch.cuda.current_device())
    if isinstance(device, int) and not isinstance(device, bool):
        if backend not in ("cuda", "rocm"):
            raise ValueError(f"Integer device IDs are only supported for CUDA/ROCm, and PyTorch finds neither here; {_OFFER}")
        return torch.device("cuda", device)
    resolved = torch.device(device) if isinstance(device, str) else device
    is_here = {"cuda": backend in ("cuda", "rocm"), "mps": _is_mps_available()}.get(resolved.type, True)
    if not is_here:
        raise RuntimeError(f"PyTorch finds no {resolved.type} device here; {_OFFER}")
    return resolved


def build_device_memory_collector(device: Any = None) -> DeviceMemoryCollector:
    """The collector of a CUDA, ROCm or MPS device; ValueError for any other."""
    resolved = _resolve_device(device)
    if resolved.type == "cuda":
        kind = ROCmDeviceCollector if getattr(torch.version, "hip", None) else CudaDeviceCollector
        return kind(resolved)
    if resolved.type == "mps":
        return MPSDeviceCollector(resolved)
    raise ValueError(f"Only CUDA/ROCm and MPS devices have a collector, found {resolved}; {_OFFER}")
