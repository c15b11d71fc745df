# SPDX-License-Identifier: MIT
"""GPUMemoryProfiler: what a call or a block allocates, and its peak, from the allocator's own counters."""

from __future__ import annotations

import gc
import os
import threading
import time
import traceback
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from . import _process
from ._repeat import Repeater, check_interval
from ._torch import torch_or_none

_PACKAGE_DIR = os.path.dirname(os.path.abspath(__file__))
_STACK_FRAMES = 5
# Of the background snapshots; about a day at 100 ms. The older half is dropped and counted when it is full.
MAX_SNAPSHOTS = 1_000_000


@dataclass
class MemorySnapshot:
    """The allocator's counters at one moment, in bytes."""

    timestamp: float
    allocated_memory: int
    reserved_memory: int
    max_memory_allocated: int
    max_memory_reserved: int
    active_memory: int
    inactive_memory: int
    cpu_memory: int
    device_id: int = 0
    operation: Optional[str] = None
    stack_trace: Optional[str] = None

    def to_dict(self) -> Dict[str, Any]:
        return asdict(self)


@dataclass
class ProfileResult:
    """One measured call or block."""

    function_name: str
    execution_time: float
    memory_before: MemorySnapshot
    memory_after: MemorySnapshot
    memory_peak: MemorySnapshot
    memory_allocated: int
    memory_freed: int
    tensors_created: int
    tensors_deleted: int
    call_count: int = 1

    def memory_diff(self) -> int:
        """After minus before, signed."""
        return self.memory_after.allocated_memory - self.memory_before.allocated_memory

    def peak_memory_usage(self) -> int:
        """The largest number of bytes allocated at once during the call."""
        return self.memory_peak.allocated_memory

    def to_dict(self) -> Dict[str, Any]:
        return {**asdict(self), "memory_diff": self.memory_diff(), "peak_memory_usage": self.peak_memory_usage()}


class TensorTracker:
    """Counts the CUDA tensors that Python's garbage collector knows."""

    def __init__(self, device: Any = None) -> None:
        self.device = device

    def count_tensors(self) -> int:
        torch = torch_or_none()
        gc.collect()
        count = 0
        for thing in gc.get_objects():
            try:
                count += isinstance(thing, torch.Tensor) and thing.is_cuda
            except ReferenceError:  # a weak proxy whose object was freed
                pass
        return count


class _Region:
    """A measured region that has not ended yet, with the largest peaks seen in it so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.allocated = self.reserved = self.active = 0

    def fold(self, peaks: Tuple[int, int, int]) -> None:
        self.allocated = max(self.allocated, peaks[0])
        self.reserved = max(self.reserved, peaks[1])
        self.active = max(self.active, peaks[2])


class GPUMemoryProfiler:
    """Measures calls and blocks on one CUDA or ROCm device.

    torch keeps one peak counter for the whole process. It is reset when a region begins; before that, its value is recorded in
    every open region, so nested and overlapping regions keep their own exact peaks.
    """

    def __init__(self, device: Any = None, track_tensors: bool = True, track_cpu_memory: bool = True,
                 collect_stack_traces: bool = False) -> None:
        self.device = self._setup_device(device)
        self.track_tensors = track_tensors
        self.track_cpu_memory = track_cpu_memory
        self.collect_stack_traces = collect_stack_traces
        self.results: List[ProfileResult] = []
        self.snapshots: List[MemorySnapshot] = []
        self.dropped_snapshots = 0
        self.function_stats: Dict[str, List[ProfileResult]] = {}
        self._tensor_tracker = TensorTracker(self.device)
        self._lock = threading.RLock()
        self._open: List[_Region] = []
        self._interval = 0.1
        self._monitor = Repeater("stormlog-monitor", self._keep_snapshot, lambda: self._interval)
        self._baseline = self._take_snapshot("baseline")

    @staticmethod
    def _setup_device(device: Any) -> Any:
        torch = torch_or_none()
        if torch is None:
            raise ImportError("GPUMemoryProfiler needs PyTorch, which is not installed; pip install 'stormlog[torch]'")
        if device is None:
            if not torch.cuda.is_available():
                raise RuntimeError("CUDA is not available here; stormlog.CPUMemoryProfiler() measures main memory")
            return torch.device("cuda", torch.cuda.current_device())
        if isinstance(device, int) and not isinstance(device, bool):
            resolved = torch.device("cuda", device)
        else:
            resolved = torch.device(device) if isinstance(device, str) else device
        if resolved.type != "cuda":
            raise ValueError(f"only CUDA devices are supported, found {resolved}; CPUMemoryProfiler measures the host")
        if not torch.cuda.is_available():
            raise RuntimeError("CUDA is not available here; stormlog.CPUMemoryProfiler() measures main memory")
        if resolved.index is None:
            resolved = torch.device("cuda", torch.cuda.current_device())
        if resolved.index >= torch.cuda.device_count():
            raise ValueError(f"device index {resolved.index} is out of range, there are {torch.cuda.device_count()} devices")
        return resolved

    # --- snapshots ------------------------------------------------------------------------------------------------

    def _stats(self) -> Dict[str, Any]:
        return torch_or_none().cuda.memory_stats(self.device)

    def _stack_trace(self) -> str:
        """The innermost frames of the program, without those of this package."""
        frames = [frame for frame in traceback.extract_stack() if not frame.filename.startswith(_PACKAGE_DIR)]
        return "".join(traceback.format_list(frames[-_STACK_FRAMES:]))

    def _take_snapshot(self, operation: Optional[str] = None, synchronizes: bool = True) -> MemorySnapshot:
        torch = torch_or_none()
        if synchronizes:
            torch.cuda.synchronize(self.device)
        stats = self._stats()
        return MemorySnapshot(
            timestamp=time.time(),
            allocated_memory=stats.get("allocated_bytes.all.current", 0),
            reserved_memory=stats.get("reserved_bytes.all.current", 0),
            max_memory_allocated=stats.get("allocated_bytes.all.peak", 0),
            max_memory_reserved=stats.get("reserved_bytes.all.peak", 0),
            active_memory=stats.get("active_bytes.all.current", 0),
            inactive_memory=stats.get("inactive_split_bytes.all.current", 0),
            cpu_memory=_process.used_memory() if self.track_cpu_memory else 0,
            device_id=self.device.index or 0,
            operation=operation,
            stack_trace=self._stack_trace() if self.collect_stack_traces and operation else None)

    # --- regions --------------------------------------------------------------------------------------------------

    def _fold_peaks(self) -> None:
        stats = self._stats()
        peaks = tuple(stats.get(f"{name}_bytes.all.peak", 0) for name in ("allocated", "reserved", "active"))
        for region in self._open:
            region.fold(peaks)  # type: ignore[arg-type]

    def _begin(self, name: str) -> _Region:
        with self._lock:
            if self._open:
                self._fold_peaks()
            torch_or_none().cuda.reset_peak_memory_stats(self.device)
            region = _Region(name)
            self._open.append(region)
            return region

    def _end(self, region: _Region, suffix: str) -> MemorySnapshot:
        """Closes the region; its peak as a snapshot."""
        with self._lock:
            self._fold_peaks()
            self._open.remove(region)
        peak = self._take_snapshot(f"peak_{region.name}{suffix}", synchronizes=False)
        peak.allocated_memory = peak.max_memory_allocated = region.allocated
        peak.reserved_memory = peak.max_memory_reserved = region.reserved
        peak.active_memory = region.active
        return peak

    @contextmanager
    def _measure(self, name: str) -> Iterator[List[ProfileResult]]:
        """Yields a list that holds the result after the block."""
        tensors_before = self._tensor_tracker.count_tensors() if self.track_tensors else 0
        before = self._take_snapshot(f"before_{name}")
        region = self._begin(name)
        started = time.perf_counter()
        suffix = "_error"
        made: List[ProfileResult] = []
        try:
            yield made
            suffix = ""
        finally:
            after = self._take_snapshot(f"after_{name}{suffix}")
            elapsed = time.perf_counter() - started
            peak = self._end(region, suffix)
            has_failed = bool(suffix)
            tensors = 0
            if self.track_tensors and not has_failed:
                tensors = self._tensor_tracker.count_tensors() - tensors_before
            change = 0 if has_failed else after.allocated_memory - before.allocated_memory
            made.append(ProfileResult(name, elapsed, before, after, peak, max(0, change), max(0, -change),
                                      max(0, tensors), max(0, -tensors)))
            self._keep(made[0])

    def _keep(self, result: ProfileResult) -> None:
        with self._lock:
            self.results.append(result)
            self.function_stats.setdefault(result.function_name, []).append(result)

    def profile_function(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> ProfileResult:
        """Calls the function once and measures it; its value is dropped. If it raises, there is a result, and the exception
        propagates."""
        with self._measure(getattr(func, "__name__", None) or type(func).__name__) as made:
            func(*args, **kwargs)
        return made[0]

    @contextmanager
    def profile_context(self, name: str = "context") -> Iterator[None]:
        """Measures a block; the result is appended even if the block raises."""
        with self._measure(name):
            yield

    # --- monitoring -----------------------------------------------------------------------------------------------

    def start_monitoring(self, interval: float = 0.1) -> None:
        """A snapshot every ``interval`` seconds in a thread, without synchronising the device."""
        interval = check_interval(interval)
        if not self._monitor.is_running:
            self._interval = interval
        self._monitor.start()

    def _keep_snapshot(self) -> None:
        snapshot = self._take_snapshot("monitor", synchronizes=False)
        with self._lock:
            self.snapshots.append(snapshot)
            if len(self.snapshots) > MAX_SNAPSHOTS:
                del self.snapshots[:MAX_SNAPSHOTS // 2]
                self.dropped_snapshots += MAX_SNAPSHOTS // 2

    def stop_monitoring(self) -> None:
        self._monitor.stop()

    # --- results --------------------------------------------------------------------------------------------------

    def get_summary(self) -> Dict[str, Any]:
        """Totals over all results; without any, a message and what monitoring collected."""
        with self._lock:
            results, snapshots = list(self.results), list(self.snapshots)
        monitoring = {"monitoring_active": self._monitor.is_running, "snapshots_collected": len(snapshots)}
        if not results and not snapshots:
            return {"message": "No profiling results available"}
        current = self._take_snapshot()
        baseline = self._baseline.allocated_memory
        peaks = [result.peak_memory_usage() for result in results]
        peaks += [snapshot.allocated_memory for snapshot in snapshots]
        return {
            "device": str(self.device),
            "total_functions_profiled": len({result.function_name for result in results}),
            "total_function_calls": len(results),
            "total_execution_time": sum(result.execution_time for result in results),
            "total_memory_allocated": sum(result.memory_allocated for result in results),
            "total_memory_freed": sum(result.memory_freed for result in results),
            "net_memory_change": sum(result.memory_diff() for result in results),
            "peak_memory_usage": max(peaks),
            "current_memory_usage": current.allocated_memory,
            "baseline_memory_usage": baseline,
            "memory_change_from_baseline": current.allocated_memory - baseline,
            "function_summaries": {name: _summarize(calls) for name, calls in self.function_stats.items()},
            **monitoring,
        }

    def clear_results(self) -> None:
        """Clears everything and takes a new baseline."""
        with self._lock:
            self.results.clear()
            self.snapshots.clear()
            self.function_stats.clear()
            if not self._open:
                torch_or_none().cuda.reset_peak_memory_stats(self.device)
        self._baseline = self._take_snapshot("baseline")

    def __enter__(self) -> "GPUMemoryProfiler":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stop_monitoring()


def _summarize(calls: List[ProfileResult]) -> Dict[str, Any]:
    seconds = sum(call.execution_time for call in calls)
    allocated = sum(call.memory_allocated for call in calls)
    return {
        "call_count": len(calls),
        "total_time": seconds,
        "avg_time": seconds / len(calls),
        "total_memory_allocated": allocated,
        "avg_memory_allocated": allocated / len(calls),
        "peak_memory": max(call.peak_memory_usage() for call in calls),
    }
