# SPDX-License-Identifier: MIT
"""Samples a TensorFlow device in a thread. Sizes are MB; events are version 2 records."""

from __future__ import annotations

import gc
import logging
import os
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional

from .._repeat import Repeater
from .._tracking import identity_of
from ..telemetry import SCHEMA_VERSION_V2
from ._counters import MB, Reading, default_device, device_index, is_cpu, need_tensorflow, read_device

logger = logging.getLogger(__name__)

COLLECTOR = "stormlog.tensorflow.memory_tracker"
_ALERT_WINDOW_S = 10.0
_ALERT_HYSTERESIS = 0.95  # share of the threshold: an alert is repeated only after memory fell below it
_MAX_SAMPLES = 1_000_000


@dataclass
class TrackingResult:
    start_time: float
    end_time: float
    memory_usage: List[float] = field(default_factory=list)
    timestamps: List[float] = field(default_factory=list)
    events: List[Dict[str, Any]] = field(default_factory=list)
    alerts_triggered: List[Dict[str, Any]] = field(default_factory=list)
    peak_memory: float = 0.0
    average_memory: float = 0.0
    min_memory: float = 0.0

    @property
    def duration(self) -> float:
        return self.end_time - self.start_time

    @property
    def memory_growth_rate(self) -> float:
        """MB per second from the first value to the last."""
        if self.duration <= 0 or not self.memory_usage:
            return 0.0
        return (self.memory_usage[-1] - self.memory_usage[0]) / self.duration


class MemoryTracker:
    """One ``sample`` event every interval, the first at once."""

    def __init__(self, sampling_interval: float = 1.0, alert_threshold_mb: Optional[float] = None,
                 device: Optional[str] = None, enable_logging: bool = True, job_id: Optional[str] = None,
                 rank: Optional[int] = None, local_rank: Optional[int] = None,
                 world_size: Optional[int] = None) -> None:
        if sampling_interval <= 0:
            raise ValueError(f"sampling_interval must be > 0, found {sampling_interval}")
        tensorflow = need_tensorflow()
        self.sampling_interval = sampling_interval
        self.alert_threshold_mb = alert_threshold_mb
        self.device = device or default_device(tensorflow)
        self.enable_logging = enable_logging
        self.distributed_identity = identity_of(job_id, rank, local_rank, world_size)
        self.alert_callbacks: List[Callable[[Dict[str, Any]], None]] = []
        self.is_tracking = False
        self._lock = threading.RLock()
        self._sampler = Repeater("stormlog-tf-tracker", self._sample, lambda: self.sampling_interval)
        self._clear()

    def _clear(self) -> None:
        self.memory_usage: List[float] = []
        self.timestamps: List[float] = []
        self.events: List[Dict[str, Any]] = []
        self.alerts_triggered: List[Dict[str, Any]] = []
        self.start_time = time.time()
        self._is_alerting = False
        self._last_bytes: Optional[int] = None

    # --- sampling -------------------------------------------------------------------------------------------------

    def start_tracking(self) -> None:
        """Clears what was tracked before."""
        if self.is_tracking:
            return
        with self._lock:
            self._clear()
        self.is_tracking = True
        self._sampler.start()

    def stop_tracking(self) -> TrackingResult:
        if self.is_tracking:
            self.is_tracking = False
            self._sampler.stop(5.0)
        return self.get_tracking_results()

    def _sample(self) -> None:
        reading = read_device(self.device)
        if reading is not None:
            self._keep(reading)

    def _keep(self, reading: Reading) -> None:
        now_ns = time.time_ns()
        value = reading.current / MB
        with self._lock:
            self.memory_usage.append(value)
            self.timestamps.append(now_ns / 1e9)
            self.events.append(self._record(reading, now_ns))
            self._last_bytes = reading.current
            for series in (self.memory_usage, self.timestamps, self.events):
                if len(series) > _MAX_SAMPLES:
                    del series[:_MAX_SAMPLES // 2]  # type: ignore[misc]
        self._check_alert(value, now_ns / 1e9)

    def _record(self, reading: Reading, now_ns: int) -> Dict[str, Any]:
        size, total = reading.current, reading.total
        used = size if reading.used is None else max(reading.used, size)
        used = used if total is None else min(used, total)
        return {
            "schema_version": SCHEMA_VERSION_V2,
            "timestamp_ns": now_ns,
            "event_type": "sample",
            "collector": COLLECTOR,
            "sampling_interval_ms": round(self.sampling_interval * 1000),
            "pid": os.getpid(),
            "host": socket.gethostname() or "unknown",
            **self.distributed_identity,
            "device_id": -1 if is_cpu(self.device) else device_index(self.device),
            "allocator_allocated_bytes": size,
            "allocator_reserved_bytes": size,
            "allocator_active_bytes": None,
            "allocator_inactive_bytes": None,
            "allocator_change_bytes": 0 if self._last_bytes is None else size - self._last_bytes,
            "device_used_bytes": used,
            "device_free_bytes": None if total is None else total - used,
            "device_total_bytes": total,
            "context": None,
            "metadata": {},
        }

    # --- alerts ---------------------------------------------------------------------------------------------------

    def _check_alert(self, value: float, now: float) -> None:
        limit = self.alert_threshold_mb
        if not limit:
            return
        if value <= limit:
            self._is_alerting = self._is_alerting and value > limit * _ALERT_HYSTERESIS
            return
        if self._is_alerting:
            return
        self._is_alerting = True
        alert = {"timestamp": now, "memory_mb": value, "threshold_mb": limit,
                 "message": f"Memory usage {value:.1f} MB exceeds the threshold of {limit:.1f} MB"}
        with self._lock:
            self.alerts_triggered.append(alert)
        if self.enable_logging:
            logger.warning(alert["message"])
        for callback in list(self.alert_callbacks):
            try:
                callback(alert)
            except Exception as error:
                logger.debug("an alert callback raised: %s", error)

    def set_alert_threshold(self, threshold_mb: Optional[float]) -> None:
        self.alert_threshold_mb = threshold_mb
        self._is_alerting = False

    def add_alert_callback(self, callback: Callable[[Dict[str, Any]], None]) -> None:
        self.alert_callbacks.append(callback)

    def check_alerts(self) -> bool:
        """Whether there was an alert in the last 10 seconds."""
        since = time.time() - _ALERT_WINDOW_S
        with self._lock:
            return any(alert["timestamp"] >= since for alert in self.alerts_triggered)

    # --- results --------------------------------------------------------------------------------------------------

    def get_current_memory(self) -> float:
        """MB; 0.0, and a line in the log, when TensorFlow does not report it."""
        reading = read_device(self.device)
        return reading.current / MB if reading is not None else 0.0

    def get_tracking_results(self) -> TrackingResult:
        with self._lock:
            values, times = list(self.memory_usage), list(self.timestamps)
            return TrackingResult(
                start_time=self.start_time, end_time=times[-1] if times and not self.is_tracking else time.time(),
                memory_usage=values, timestamps=times, events=list(self.events),
                alerts_triggered=list(self.alerts_triggered), peak_memory=max(values, default=0.0),
                average_memory=sum(values) / len(values) if values else 0.0, min_memory=min(values, default=0.0))


class MemoryWatchdog:
    """Cleans up when memory passes a limit: Keras's session, the garbage collector, then callbacks."""

    def __init__(self, max_memory_mb: float = 8000, cleanup_threshold_mb: float = 6000,
                 check_interval: float = 5.0) -> None:
        self.max_memory_mb = max_memory_mb
        self.cleanup_threshold_mb = cleanup_threshold_mb
        self.check_interval = check_interval
        self.cleanup_callbacks: List[Callable[[], None]] = []
        self._tf = need_tensorflow()
        self._device = default_device(self._tf)
        self._checker = Repeater("stormlog-tf-watchdog", self._check, lambda: self.check_interval, at_once=False)

    def add_cleanup_callback(self, callback: Callable[[], None]) -> None:
        self.cleanup_callbacks.append(callback)

    def start(self) -> None:
        self._checker.start()

    def stop(self) -> None:
        self._checker.stop(5.0)

    def _check(self) -> None:
        reading = read_device(self._device)
        if reading is not None and reading.current / MB > self.cleanup_threshold_mb:
            if reading.current / MB > self.max_memory_mb:
                logger.error("memory usage %.1f MB is above the maximum of %.1f MB", reading.current / MB,
                             self.max_memory_mb)
            self.force_cleanup()

    def force_cleanup(self) -> None:
        self._tf.keras.backend.clear_session()
        gc.collect()
        for callback in list(self.cleanup_callbacks):
            try:
                callback()
            except Exception as error:
                logger.warning("a cleanup callback raised: %s", error)
