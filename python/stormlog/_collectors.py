# SPDX-License-Identifier: MIT
"""The base class of collectors, and the collector that needs no framework. The others are in device_collectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Dict, Optional

from . import _process


@dataclass(frozen=True)
class DeviceMemorySample:
    """One reading, in bytes; None = not known."""

    allocated_bytes: int
    reserved_bytes: int
    used_bytes: int
    free_bytes: Optional[int]
    total_bytes: Optional[int]
    active_bytes: Optional[int]
    inactive_bytes: Optional[int]
    device_id: int


class DeviceMemoryCollector(ABC):
    """Reads the counters of one device."""

    @abstractmethod
    def name(self) -> str:
        """``cuda``, ``rocm``, ``mps`` or ``cpu``."""

    @abstractmethod
    def is_available(self) -> bool: ...

    @abstractmethod
    def sample(self) -> DeviceMemorySample: ...

    @abstractmethod
    def capabilities(self) -> Dict[str, Any]: ...

    def peak_bytes(self) -> Optional[int]:
        """The allocator's own maximum since the process began or since it was reset; None if it does not keep one."""
        return None

    def used_source(self) -> str:
        """Where ``used_bytes`` comes from: ``driver`` or ``allocator``."""
        return "allocator"


class CPUDeviceCollector(DeviceMemoryCollector):
    """This process's resident memory, against what the machine or its control group allows. Needs no torch."""

    device = "cpu"
    device_id = -1

    def __init__(self, process: Any = None) -> None:
        self._process = process or _process.Process()
        self._total = _process.total_memory()
        self._peak: Optional[int] = None

    def name(self) -> str:
        return "cpu"

    def is_available(self) -> bool:
        return True

    def sample(self) -> DeviceMemorySample:
        memory = self._process.memory_info()
        self._peak = getattr(memory, "peak_rss", None)
        total = self._total or None
        used = memory.rss if total is None else min(memory.rss, total)
        return DeviceMemorySample(memory.rss, memory.rss, used, None if total is None else total - used, total, None,
                                  None, self.device_id)

    def capabilities(self) -> Dict[str, Any]:
        return {
            "backend": "cpu",
            "supports_device_total": bool(self._total),
            "supports_device_free": bool(self._total),
            "sampling_source": "/proc/self/statm",
            "telemetry_collector": "stormlog.cpu_tracker",
        }

    def peak_bytes(self) -> Optional[int]:
        return self._peak
