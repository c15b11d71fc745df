# SPDX-License-Identifier: MIT
"""The profiler and tracker for main memory: what this process holds. Needs no framework."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Callable, Dict, Iterator, List, Optional

from . import _process as psutil
from ._collectors import CPUDeviceCollector
from ._process import PeakWatch
from ._repeat import Repeater, check_interval
from ._tracking import TrackerBase, TrackingEvent, check_limits, identity_of

__all__ = ["CPUMemoryProfiler", "CPUMemorySnapshot", "CPUMemoryTracker", "CPUProfileResult", "TrackingEvent"]

_UNITS = ("B", "KB", "MB", "GB", "TB")


def _format_bytes(value: float) -> str:
    """Like utils.format_bytes, except that zero has decimals and TB is the largest unit."""
    value, unit = float(value), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value /= 1024
        unit += 1
    return f"{value:.2f} {_UNITS[unit]}"


@dataclass
class CPUMemorySnapshot:
    """Bytes; cpu_percent is of one core, since the snapshot before. The resident size is also given as allocated and reserved,
    the names for a GPU's allocator, so that one visualizer and one analyzer work for both."""

    timestamp: float
    rss: int
    vms: int
    cpu_percent: float

    operation = None
    device_id = -1

    def to_dict(self) -> Dict[str, Any]:
        return asdict(self)

    @property
    def allocated_memory(self) -> int:
        return self.rss

    @property
    def reserved_memory(self) -> int:
        return self.rss

    @property
    def active_memory(self) -> int:
        return self.rss

    @property
    def inactive_memory(self) -> int:
        return 0


@dataclass
class CPUProfileResult:
    """One measured call or block. ``peak_rss`` is the largest resident size during it."""

    name: str
    duration: float
    snapshot_before: CPUMemorySnapshot
    snapshot_after: CPUMemorySnapshot
    peak_rss: int

    call_count = 1
    tensors_created = tensors_deleted = 0

    def memory_diff(self) -> int:
        return self.snapshot_after.rss - self.snapshot_before.rss

    def peak_memory_usage(self) -> int:
        return self.peak_rss

    @property
    def function_name(self) -> str:
        return self.name

    @property
    def execution_time(self) -> float:
        return self.duration

    @property
    def memory_before(self) -> CPUMemorySnapshot:
        return self.snapshot_before

    @property
    def memory_after(self) -> CPUMemorySnapshot:
        return self.snapshot_after

    @property
    def memory_peak(self) -> CPUMemorySnapshot:
        return replace(self.snapshot_after, rss=self.peak_rss)

    @property
    def memory_allocated(self) -> int:
        return max(0, self.memory_diff())

    @property
    def memory_freed(self) -> int:
        return max(0, -self.memory_diff())

    def to_dict(self) -> Dict[str, Any]:
        return {"name": self.name, "duration": self.duration, "memory_diff": self.memory_diff(),
                "peak_rss": self.peak_rss, "before": self.snapshot_before.to_dict(),
                "after": self.snapshot_after.to_dict()}


class CPUMemoryProfiler:
    """Measures calls and blocks of this process, and samples it in a thread."""

    def __init__(self) -> None:
        self.process = psutil.Process()
        self.snapshots: List[CPUMemorySnapshot] = []
        self.results: List[CPUProfileResult] = []
        self._baseline_snapshot = self._take_snapshot()
        self._interval = 0.1
        self._monitor = Repeater("stormlog-cpu-monitor", self._keep_snapshot, lambda: self._interval)

    def _take_snapshot(self) -> CPUMemorySnapshot:
        memory = self.process.memory_info()
        return CPUMemorySnapshot(time.time(), memory.rss, memory.vms, self.process.cpu_percent())

    def start_monitoring(self, interval: float = 0.1) -> None:
        """A snapshot every ``interval`` seconds; ValueError when it is not above 0. Does nothing when running."""
        interval = check_interval(interval)
        if not self._monitor.is_running:
            self._interval = interval
        self._monitor.start()

    def _keep_snapshot(self) -> None:
        self.snapshots.append(self._take_snapshot())

    def stop_monitoring(self) -> None:
        self._monitor.stop(1.0)

    @property
    def _monitoring(self) -> bool:
        return self._monitor.is_running

    @property
    def _monitor_thread(self) -> Optional[threading.Thread]:
        return self._monitor.thread

    def profile_function(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> CPUProfileResult:
        """Calls the function once; its value is dropped. If it raises, the exception propagates and there is no result."""
        with self.profile_context(getattr(func, "__name__", None) or "cpu_function"):
            func(*args, **kwargs)
        return self.results[-1]

    @contextmanager
    def profile_context(self, name: str = "context") -> Iterator[None]:
        """Measures a block."""
        watch = PeakWatch()
        before = self._take_snapshot()
        started = time.perf_counter()
        watch.start()
        try:
            yield
        finally:
            watched = watch.stop()
        duration = time.perf_counter() - started
        after = self._take_snapshot()
        # A substitute for the process has its own numbers, which the native watch cannot see.
        peak = watched if getattr(self.process, "pid", None) == os.getpid() else 0
        self.results.append(CPUProfileResult(name, duration, before, after, max(before.rss, after.rss, peak)))

    def clear_results(self) -> None:
        """Clears results and snapshots; takes a new baseline."""
        self.results.clear()
        self.snapshots.clear()
        self._baseline_snapshot = self._take_snapshot()

    def get_summary(self) -> Dict[str, Any]:
        snapshots = list(self.snapshots)
        sizes = [snapshot.rss for snapshot in snapshots] + [result.peak_rss for result in self.results]
        change = snapshots[-1].rss - snapshots[0].rss if snapshots else 0
        return {
            "mode": "cpu",
            "snapshots_collected": len(snapshots),
            "peak_memory_usage": max(sizes, default=self._baseline_snapshot.rss),
            "memory_change_from_baseline": change,
            "baseline_rss": self._baseline_snapshot.rss,
        }


class CPUMemoryTracker(TrackerBase):
    """Samples this process's resident memory; events and files as those of MemoryTracker."""

    _evidence_kind = "cpu_tracker"
    _words = {"start": "CPU memory tracking started", "stop": "CPU memory tracking stopped", "peak": "New CPU peak RSS",
              "allocation": "RSS increased by", "deallocation": "RSS decreased by"}
    _format_bytes = staticmethod(_format_bytes)

    def __init__(self, sampling_interval: float = 0.5, max_events: int = 10000, enable_alerts: bool = True,
                 job_id: Optional[str] = None, rank: Optional[int] = None, local_rank: Optional[int] = None,
                 world_size: Optional[int] = None) -> None:
        check_limits(sampling_interval, max_events)
        self.process = psutil.Process()
        self._init_tracking(collector=CPUDeviceCollector(self.process), sampling_interval=sampling_interval,
                            max_events=max_events, identity=identity_of(job_id, rank, local_rank, world_size),
                            evidence_dir=None)
        self.enable_alerts = enable_alerts

    def _event_record(self, event: TrackingEvent) -> Dict[str, Any]:
        # Main memory is not a device: its use by other processes is not part of this record.
        record = super()._event_record(event)
        record.update(device_used_bytes=event.memory_allocated, device_free_bytes=None, device_total_bytes=None)
        return record

    def get_statistics(self) -> Dict[str, Any]:
        with self._events_lock:
            stats, count = dict(self.stats), len(self.events)
        started = stats["tracking_start_time"]
        return {
            "mode": "cpu",
            "total_events": count,
            "peak_memory": stats["peak_memory"],
            "current_memory_allocated": self._safe_sample().allocated_bytes,
            "tracking_duration_seconds": time.time() - started if started is not None else 0.0,
            "dropped_events": stats["dropped_events"],
        }

    def get_memory_timeline(self, interval: float = 1.0) -> Dict[str, List[float]]:
        """One point for every event; ``interval`` is ignored; it is accepted because MemoryTracker has it."""
        events = self._event_list()
        values = [float(event.memory_allocated) for event in events]
        return {"timestamps": [event.timestamp for event in events], "allocated": values, "reserved": list(values)}

    def export_events_with_timestamp(self, directory: Any, format: str = "csv") -> str:
        """``<directory>/cpu_tracker_<YYYYmmdd_HHMMSS>.<format>``; returns the path."""
        path = os.path.join(directory, f"cpu_tracker_{time.strftime('%Y%m%d_%H%M%S')}.{format}")
        self.export_events(path, format)
        return path
