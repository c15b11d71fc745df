# SPDX-License-Identifier: MIT
"""Measures TensorFlow calls and blocks. All sizes are MB (1024^2 bytes)."""

from __future__ import annotations

import functools
import threading
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional

from .. import _process
from .._repeat import Repeater, check_interval
from ._counters import MB, default_device, need_tensorflow, read_device

_MAX_SNAPSHOTS = 1_000_000
_MAX_HISTORY = 100_000


@dataclass
class MemorySnapshot:
    timestamp: float
    name: str
    gpu_memory_mb: float
    cpu_memory_mb: float
    gpu_memory_reserved_mb: float
    gpu_utilization: float
    num_tensors: int
    tensor_sizes: Dict[str, float] = field(default_factory=dict)
    operation_name: Optional[str] = None
    graph_node: Optional[str] = None


@dataclass
class ProfileResult:
    start_time: float
    end_time: float
    peak_memory_mb: float
    average_memory_mb: float
    min_memory_mb: float
    total_allocations: int
    total_deallocations: int
    snapshots: List[MemorySnapshot] = field(default_factory=list)
    function_profiles: Dict[str, Dict[str, Any]] = field(default_factory=dict)
    tensor_lifecycle: Dict[str, Any] = field(default_factory=dict)
    memory_fragmentation: float = 0.0
    efficiency_score: float = 0.0

    @property
    def duration(self) -> float:
        return self.end_time - self.start_time

    @property
    def memory_growth_rate(self) -> float:
        """MB per second between the lowest and the highest value."""
        return (self.peak_memory_mb - self.min_memory_mb) / self.duration if self.duration > 0 else 0.0


class TensorTracker:
    """Tensors that the program registers itself."""

    def __init__(self) -> None:
        self.history: Deque[Dict[str, Any]] = deque(maxlen=_MAX_HISTORY)
        self.active: Dict[int, float] = {}

    def track_tensor(self, tensor: Any, operation_name: str = "unknown") -> None:
        count = 1
        for size in tensor.shape:
            count *= int(size or 1)
        size_mb = count * int(getattr(tensor.dtype, "size", 4)) / MB
        self.active[id(tensor)] = size_mb
        self.history.append({"timestamp": time.time(), "operation": operation_name, "size_mb": size_mb})

    def get_active_tensors(self) -> Dict[str, Any]:
        total = sum(self.active.values())
        count = len(self.active)
        return {"count": count, "total_size_mb": total, "average_size_mb": total / count if count else 0.0}

    def get_tensor_lifecycle(self) -> List[Dict[str, Any]]:
        return list(self.history)

    def summary(self) -> Dict[str, Any]:
        return {"history": self.get_tensor_lifecycle(), "active": self.get_active_tensors()}


class TFMemoryProfiler:
    """Snapshots around calls and blocks, and in a thread."""

    def __init__(self, device: Optional[str] = None, enable_tensor_tracking: bool = True) -> None:
        self._tf = need_tensorflow()
        self.device = device or default_device(self._tf)
        self.enable_tensor_tracking = enable_tensor_tracking
        self.tensor_tracker = TensorTracker()
        self.snapshots: List[MemorySnapshot] = []
        self.function_profiles: Dict[str, Dict[str, Any]] = {}
        self._lock = threading.RLock()
        self._interval = 1.0
        self._sampler = Repeater("stormlog-tf-profiler", lambda: self.capture_snapshot("continuous"),
                                 lambda: self._interval)
        self.start_time = time.time()
        self._enable_memory_growth()

    def _enable_memory_growth(self) -> None:
        """Without it TensorFlow reserves the whole card and the figures are meaningless."""
        for gpu in self._tf.config.list_physical_devices("GPU"):
            try:
                self._tf.config.experimental.set_memory_growth(gpu, True)
            except Exception:  # too late once TensorFlow has begun to use the device
                return

    def capture_snapshot(self, name: str = "snapshot") -> MemorySnapshot:
        reading = read_device(self.device)
        current = reading.current / MB if reading else 0.0
        peak = reading.peak / MB if reading else 0.0
        tracked = self.tensor_tracker.active
        snapshot = MemorySnapshot(
            timestamp=time.time(), name=name, gpu_memory_mb=max(0.0, current),
            cpu_memory_mb=_process.Process().memory_info().rss / MB, gpu_memory_reserved_mb=max(0.0, peak),
            gpu_utilization=min(100.0, 100.0 * current / peak) if peak > 0 else 0.0, num_tensors=len(tracked),
            tensor_sizes={str(key): size for key, size in tracked.items()})
        with self._lock:
            self.snapshots.append(snapshot)
            if len(self.snapshots) > _MAX_SNAPSHOTS:
                del self.snapshots[:_MAX_SNAPSHOTS // 2]
        return snapshot

    def _note(self, name: str, before: MemorySnapshot, after: MemorySnapshot) -> None:
        with self._lock:
            profile = self.function_profiles.setdefault(
                name, {"calls": 0, "total_duration": 0.0, "total_memory_used": 0.0, "peak_memory": 0.0, "snapshots": []})
            profile["calls"] += 1
            profile["total_duration"] += after.timestamp - before.timestamp
            profile["total_memory_used"] += after.gpu_memory_mb - before.gpu_memory_mb
            profile["peak_memory"] = max(profile["peak_memory"], before.gpu_memory_mb, after.gpu_memory_mb)
            profile["snapshots"] += [before, after]

    def profile_function(self, func: Callable[..., Any], name: Optional[str] = None) -> Callable[..., Any]:
        """A decorator; the wrapper returns the function's value."""
        label = name or getattr(func, "__name__", None) or type(func).__name__

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            before = self.capture_snapshot(f"{label}_before")
            try:
                value = func(*args, **kwargs)
            except BaseException:
                self.capture_snapshot(f"{label}_error")
                raise
            self._note(label, before, self.capture_snapshot(f"{label}_after"))
            return value

        return wrapper

    @contextmanager
    def profile_context(self, name: str = "context") -> Iterator["TFMemoryProfiler"]:
        before = self.capture_snapshot(f"{name}_start")
        try:
            yield self
        finally:
            self._note(name, before, self.capture_snapshot(f"{name}_end"))

    def start_continuous_profiling(self, interval: float = 1.0) -> None:
        interval = check_interval(interval)
        if not self._sampler.is_running:
            self._interval = interval
        self._sampler.start()

    def stop_continuous_profiling(self) -> None:
        self._sampler.stop(5.0)

    def get_results(self) -> ProfileResult:
        with self._lock:
            snapshots = list(self.snapshots)
            profiles = {name: dict(profile) for name, profile in self.function_profiles.items()}
        values = [snapshot.gpu_memory_mb for snapshot in snapshots]
        changes = [later - earlier for earlier, later in zip(values, values[1:])]
        return ProfileResult(
            start_time=snapshots[0].timestamp if snapshots else self.start_time,
            end_time=snapshots[-1].timestamp if snapshots else time.time(),
            peak_memory_mb=max(values, default=0.0), average_memory_mb=sum(values) / len(values) if values else 0.0,
            min_memory_mb=min(values, default=0.0), total_allocations=sum(change > 0 for change in changes),
            total_deallocations=sum(change < 0 for change in changes), snapshots=snapshots, function_profiles=profiles,
            tensor_lifecycle=self.tensor_tracker.summary())

    def reset(self) -> None:
        with self._lock:
            self.snapshots.clear()
            self.function_profiles.clear()
            self.tensor_tracker = TensorTracker()
            self.start_time = time.time()

    def __enter__(self) -> "TFMemoryProfiler":
        self.capture_snapshot("context_start")
        return self

    def __exit__(self, *exception: Any) -> None:
        self.capture_snapshot("context_end")
        self.stop_continuous_profiling()


class TensorFlowProfiler:
    """Training and inference measured step by step; its profiler becomes the process's."""

    def __init__(self, device: Optional[str] = None) -> None:
        from .context_profiler import set_global_profiler

        self.profiler = TFMemoryProfiler(device=device)
        set_global_profiler(self.profiler)

    def profile_training(self, model: Any, dataset: Any, epochs: int = 1,
                         steps_per_epoch: Optional[int] = None) -> ProfileResult:
        """Calls model.train_on_batch for each batch of the dataset."""
        with self.profiler.profile_context("training"):
            for epoch in range(epochs):
                with self.profiler.profile_context(f"epoch_{epoch}"):
                    for step, batch in enumerate(dataset):
                        if steps_per_epoch is not None and step >= steps_per_epoch:
                            break
                        with self.profiler.profile_context(f"step_{step}"):
                            model.train_on_batch(*batch)
        return self.get_results()

    def profile_inference(self, model: Any, data: Any, batch_size: int = 32) -> ProfileResult:
        """Calls model.predict_on_batch for each ``batch_size`` items."""
        with self.profiler.profile_context("inference"):
            for number, first in enumerate(range(0, len(data), batch_size)):
                with self.profiler.profile_context(f"inference_batch_{number}"):
                    model.predict_on_batch(data[first:first + batch_size])
        return self.get_results()

    def get_results(self) -> ProfileResult:
        return self.profiler.get_results()

    def reset(self) -> None:
        self.profiler.reset()
