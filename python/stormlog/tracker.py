# SPDX-License-Identifier: MIT
"""MemoryTracker: samples, alerts and out-of-memory bundles of one device while a program runs."""

from __future__ import annotations

import gc
import logging
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional

from ._collectors import CPUDeviceCollector, DeviceMemoryCollector, DeviceMemorySample
from ._torch import torch_or_none
from ._tracking import TrackerBase, TrackingEvent, binned_timeline, check_limits, identity_of
from .oom_flight_recorder import OOMFlightRecorder, OOMFlightRecorderConfig, classify_oom_exception
from .utils import format_bytes

logger = logging.getLogger(__name__)

__all__ = ["MemoryTracker", "MemoryWatchdog", "TrackingEvent"]

AlertCallback = Callable[[TrackingEvent], None]

# An alert is repeated only after its value went back by at least this much, or after ALERT_REPEAT_S.
USAGE_HYSTERESIS_PERCENT = 5.0
FRAGMENTATION_HYSTERESIS = 0.05
ALERT_REPEAT_S = 60.0


def _build_collector(device: Any) -> DeviceMemoryCollector:
    if str(device) == "cpu":
        return CPUDeviceCollector()
    from . import device_collectors

    collector = device_collectors.build_device_memory_collector(device)
    torch = torch_or_none()
    if not collector.is_available():
        raise RuntimeError(f"the {collector.name()} backend is not available to PyTorch")
    if collector.name() in ("cuda", "rocm") and collector.device_id >= torch.cuda.device_count():  # type: ignore[attr-defined]
        raise ValueError(f"device index {collector.device_id} is out of range, "  # type: ignore[attr-defined]
                         f"there are {torch.cuda.device_count()} devices")
    return collector


def _bundle_metadata(tracker: Any, sample: DeviceMemorySample, metadata: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    return {
        "tracker_stats": tracker.get_statistics(),
        "collector_capabilities": tracker.collector_capabilities,
        "total_memory_bytes": tracker.total_memory,
        "sampling_interval_s": tracker.sampling_interval,
        **tracker.distributed_identity,
        **(metadata or {}),
        **{f"sample_{name}": value for name, value in asdict(sample).items() if name not in ("active_bytes", "inactive_bytes")},
    }


class _AlertState:
    """When the alert of one rule was raised last, and whether it is still active."""

    def __init__(self) -> None:
        self.level = 0
        self._given_at = 0.0

    def should_give(self, level: int, lower: int) -> bool:
        """``level``: the level of the current values; ``lower``: their level with the hysteresis subtracted. True when the
        alert is new, worse, or a minute old."""
        now = time.monotonic()
        if level > self.level or (level and level == self.level and now - self._given_at >= ALERT_REPEAT_S):
            self.level, self._given_at = level, now
            return True
        self.level = min(self.level, max(level, lower))
        return False


class MemoryTracker(TrackerBase):
    """Watches one device: a ``sample`` event every interval with the allocator's and the driver's figures, ``peak``,
    ``allocation`` and ``deallocation`` events, alerts, and a bundle of evidence when memory runs out.

    ``device``: None (the current GPU), an index, ``cuda:1``, ``mps``, a torch.device, or ``cpu``, which watches this
    process's resident memory and needs no GPU. Thread-safe.
    """

    def __init__(self, device: Any = None, sampling_interval: float = 0.1, max_events: int = 10000,
                 enable_alerts: bool = True, enable_oom_flight_recorder: bool = False,
                 oom_dump_dir: str = "oom_dumps", oom_buffer_size: Optional[int] = None, oom_max_dumps: int = 5,
                 oom_max_total_mb: int = 256, job_id: Optional[str] = None, rank: Optional[int] = None,
                 local_rank: Optional[int] = None, world_size: Optional[int] = None) -> None:
        check_limits(sampling_interval, max_events)
        collector = _build_collector(device)
        self._init_tracking(collector=collector, sampling_interval=sampling_interval, max_events=max_events,
                            identity=identity_of(job_id, rank, local_rank, world_size),
                            evidence_dir=oom_dump_dir if enable_oom_flight_recorder else None)
        self.device = getattr(collector, "device", device)
        self.collector_capabilities = collector.capabilities()
        self.enable_alerts = enable_alerts
        self.last_oom_dump_path: Optional[str] = None
        self.alert_callbacks: List[AlertCallback] = []
        self.thresholds: Dict[str, float] = {
            "memory_warning_percent": 80.0,
            "memory_critical_percent": 95.0,
            "memory_leak_threshold": 104857600.0,
            "fragmentation_threshold": 0.3,
        }
        self._usage_alert = _AlertState()
        self._fragmentation_alert = _AlertState()
        self._hooks: Dict[str, Any] = {}
        self._oom_flight_recorder = OOMFlightRecorder(OOMFlightRecorderConfig(
            enabled=enable_oom_flight_recorder, dump_dir=oom_dump_dir,
            buffer_size=oom_buffer_size if oom_buffer_size and oom_buffer_size > 0 else max_events,
            max_dumps=oom_max_dumps, max_total_mb=oom_max_total_mb))
        self.gpu_info = self._describe_device()
        self.total_memory = self._find_total()

    def _describe_device(self) -> Dict[str, Any]:
        if self.backend not in ("cuda", "rocm"):
            return {"backend": self.backend}
        from .utils import get_gpu_info

        try:
            return get_gpu_info(self.device)
        except Exception as error:
            return {"error": str(error)}

    def _find_total(self) -> int:
        sample = self._take_sample()
        total = sample.total_bytes if sample else None
        return int(total or self.gpu_info.get("total_memory") or 0)

    @property
    def oom_buffer_size(self) -> int:
        """Events that a bundle can hold."""
        return self._oom_flight_recorder.config.buffer_size

    # --- life -----------------------------------------------------------------------------------------------------

    def start_tracking(self) -> None:
        """Begins to sample in a thread; does nothing when it already does. With the flight recorder enabled, an uncaught
        out-of-memory error also leaves a bundle."""
        if not self.is_tracking and self._oom_flight_recorder.config.enabled:
            self._hook_uncaught()
        super().start_tracking()

    def stop_tracking(self) -> None:
        """Ends sampling; does nothing when it is not sampling."""
        self._unhook_uncaught()
        super().stop_tracking()

    def _hook_uncaught(self) -> None:
        def of_main(kind: Any, error: BaseException, trace: Any) -> None:
            self._dump_uncaught(error)
            original_main(kind, error, trace)

        def of_thread(arguments: Any) -> None:
            if arguments.exc_value is not None:
                self._dump_uncaught(arguments.exc_value)
            original_thread(arguments)

        original_main, original_thread = sys.excepthook, threading.excepthook
        self._hooks = {"main": (of_main, original_main), "thread": (of_thread, original_thread)}
        sys.excepthook, threading.excepthook = of_main, of_thread

    def _unhook_uncaught(self) -> None:
        """Removes the hooks if they are still the outermost ones."""
        hooks, self._hooks = self._hooks, {}
        if hooks and sys.excepthook is hooks["main"][0]:
            sys.excepthook = hooks["main"][1]
        if hooks and threading.excepthook is hooks["thread"][0]:
            threading.excepthook = hooks["thread"][1]

    def _dump_uncaught(self, error: BaseException) -> None:
        if getattr(error, "_stormlog_bundle", None) is None:
            self.handle_exception(error, context="uncaught")

    # --- alerts ---------------------------------------------------------------------------------------------------

    def add_alert_callback(self, callback: AlertCallback) -> None:
        """``callback(event)`` is called in the sampling thread for every warning, critical and error event."""
        self.alert_callbacks.append(callback)

    def remove_alert_callback(self, callback: AlertCallback) -> None:
        if callback in self.alert_callbacks:
            self.alert_callbacks.remove(callback)

    def set_threshold(self, threshold_name: str, value: float) -> None:
        """ValueError for a name that is not in ``thresholds``."""
        if threshold_name not in self.thresholds:
            raise ValueError(f"Unknown threshold: {threshold_name!r}; expected one of {', '.join(self.thresholds)}")
        self.thresholds[threshold_name] = value

    def _check_alerts(self, sample: DeviceMemorySample, change: int) -> None:
        if not self.enable_alerts or self.total_memory <= 0:
            return
        self._check_usage(sample, change)
        if change > self.thresholds["memory_leak_threshold"]:
            self._add_event("warning", change, f"Large allocation: {format_bytes(change)}", {"large_allocation": True},
                            sample)
        self._check_fragmentation(sample, change)

    def _usage_level(self, percent: float) -> int:
        levels = (self.thresholds["memory_warning_percent"], self.thresholds["memory_critical_percent"])
        return 2 if percent >= levels[1] else 1 if percent >= levels[0] else 0

    def _check_usage(self, sample: DeviceMemorySample, change: int) -> None:
        percent = 100.0 * sample.allocated_bytes / self.total_memory
        level = self._usage_level(percent)
        if self._usage_alert.should_give(level, self._usage_level(percent + USAGE_HYSTERESIS_PERCENT)):
            kind = "critical" if level == 2 else "warning"
            self._add_event(kind, change, f"{kind.upper()}: Memory usage at {percent:.1f}%",
                            {"usage_percent": percent}, sample)

    def _check_fragmentation(self, sample: DeviceMemorySample, change: int) -> None:
        if sample.reserved_bytes <= 0 or sample.allocated_bytes <= 0:  # nothing allocated: an unused cache is not fragmentation
            return
        share = (sample.reserved_bytes - sample.allocated_bytes) / sample.reserved_bytes
        limit = self.thresholds["fragmentation_threshold"]
        if self._fragmentation_alert.should_give(int(share > limit), int(share + FRAGMENTATION_HYSTERESIS > limit)):
            self._add_event("warning", change, f"High fragmentation: {100 * share:.1f}%", {"fragmentation": share},
                            sample)

    def _call_alert_callbacks(self, event: TrackingEvent) -> None:
        for callback in list(self.alert_callbacks):
            try:
                callback(event)
            except Exception as error:
                logger.debug("an alert callback raised: %s", error)

    def get_alerts(self, last_n: Optional[int] = None) -> List[TrackingEvent]:
        """Warning, critical and error events; samples never displace them."""
        with self._events_lock:
            found = list(self._alerts)
        return found[-last_n:] if last_n else found

    # --- out of memory --------------------------------------------------------------------------------------------

    def _add_event(self, event_type: str, memory_change: int = 0, context: Optional[str] = None,
                   metadata: Optional[Dict[str, Any]] = None,
                   sample: Optional[DeviceMemorySample] = None) -> TrackingEvent:
        event = super()._add_event(event_type, memory_change, context, metadata, sample)
        if self._oom_flight_recorder.config.enabled:
            payload = asdict(event)
            del payload["timestamp_ns"]
            payload["metadata"] = payload["metadata"] or {}
            self._oom_flight_recorder.record_event(payload)
        return event

    def handle_exception(self, exc: BaseException, context: Optional[str] = None,
                         metadata: Optional[Mapping[str, Any]] = None) -> Optional[str]:
        """Writes a bundle when the exception means that memory ran out and the flight recorder is enabled; returns its
        folder, else None. Never raises."""
        found = classify_oom_exception(exc)
        if not found.is_oom or not self._oom_flight_recorder.config.enabled:
            return None
        try:
            sample = self._safe_sample()
            self._add_event("error", 0, f"Out of memory: {found.reason}", {"oom_reason": found.reason}, sample)
            path = self._oom_flight_recorder.dump(reason=found.reason or "unknown", exception=exc, context=context,
                                                  backend=self.backend, metadata=_bundle_metadata(self, sample, metadata))
        except Exception as error:
            logger.error("the out-of-memory bundle could not be written: %s", error)
            return None
        self.last_oom_dump_path = path
        try:
            exc._stormlog_bundle = path  # type: ignore[attr-defined]
        except AttributeError:  # an exception type with slots; it may then be dumped twice
            pass
        return path

    @contextmanager
    def capture_oom(self, context: str = "runtime", metadata: Optional[Mapping[str, Any]] = None) -> Iterator[None]:
        """A block whose out-of-memory error leaves a bundle; the error propagates unchanged."""
        try:
            yield
        except Exception as error:
            path = self.handle_exception(error, context=context, metadata=metadata)
            if path:
                logger.error("out of memory; the evidence is in %s", path)
            raise

    # --- questions ------------------------------------------------------------------------------------------------

    def get_memory_timeline(self, interval: float = 1.0) -> Dict[str, List[Any]]:
        """``{timestamps, allocated, reserved}``: the last values of each interval that has an event."""
        return binned_timeline(self._event_list(), interval)

    def get_statistics(self) -> Dict[str, Any]:
        """Counters since start, and figures derived from them, under the keys of the Python tool."""
        with self._events_lock:
            stats, events = dict(self.stats), list(self.events)
        stats["total_events"] = len(events)  # those that are kept, as in the Python tool
        if events:
            stats.update(self._current_figures(stats, events))
        if stats["tracking_start_time"] is not None:
            duration = time.time() - stats["tracking_start_time"]
            stats["tracking_duration_seconds"] = duration
            stats["allocations_per_second"] = stats["total_allocations"] / max(duration, 1)
            stats["bytes_allocated_per_second"] = stats["total_allocation_bytes"] / max(duration, 1)
        return stats

    def _current_figures(self, stats: Dict[str, Any], events: List[TrackingEvent]) -> Dict[str, Any]:
        sample = self._safe_sample()
        since = time.time() - 3600
        return {
            "events_last_hour": sum(event.timestamp >= since for event in events),
            "backend": self.backend,
            "oom_flight_recorder_enabled": self._oom_flight_recorder.config.enabled,
            "last_oom_dump_path": self.last_oom_dump_path,
            "current_memory_allocated": sample.allocated_bytes,
            "current_memory_reserved": sample.reserved_bytes,
            "memory_utilization_percent": 100.0 * sample.used_bytes / self.total_memory if self.total_memory else 0,
            "average_allocation_size": stats["total_allocation_bytes"] / max(stats["total_allocations"], 1),
            "average_deallocation_size": stats["total_deallocation_bytes"] / max(stats["total_deallocations"], 1),
        }

    def export_artifacts(self, folder: Any) -> List[str]:
        """Writes the whole set for one run into a folder: events, timeline, statistics, alerts, picture, page; returns the
        paths. See stormlog.artifacts."""
        from .artifacts import write_artifacts

        return write_artifacts(self, folder)

    def _record_metadata(self) -> Dict[str, Any]:
        kept = ("backend", "supports_device_total", "supports_device_free", "sampling_source")
        return {**{name: self.collector_capabilities[name] for name in kept},
                "device_used_source": self.collector.used_source()}


class MemoryWatchdog:
    """Empties the allocator's cache when the tracker raises an alert, at most every 30 seconds."""

    def __init__(self, tracker: MemoryTracker, auto_cleanup: bool = True, cleanup_threshold: float = 0.9,
                 aggressive_cleanup_threshold: float = 0.95) -> None:
        self.tracker = tracker
        self.auto_cleanup = auto_cleanup
        self.cleanup_threshold = cleanup_threshold
        self.aggressive_cleanup_threshold = aggressive_cleanup_threshold
        self.cleanup_count = 0
        self.last_cleanup_time = 0.0
        self.min_cleanup_interval = 30.0
        tracker.add_alert_callback(self._memory_alert_callback)

    def _memory_alert_callback(self, event: TrackingEvent) -> None:
        if not self.auto_cleanup or time.time() - self.last_cleanup_time < self.min_cleanup_interval:
            return
        share = (event.metadata or {}).get("usage_percent", 0.0) / 100
        if event.event_type == "critical" or share >= self.aggressive_cleanup_threshold:
            self._perform_cleanup(aggressive=True)
        elif event.event_type == "warning" and share >= self.cleanup_threshold:
            self._perform_cleanup(aggressive=False)

    def _perform_cleanup(self, aggressive: bool) -> None:
        word = "aggressive" if aggressive else "standard"
        # Set before the work: after a failure it must not be retried at every alert.
        self.last_cleanup_time = time.time()
        try:
            self._clean(aggressive)
        except Exception as error:
            self.tracker._add_event("error", 0, f"Memory cleanup ({word}) failed: {error}")
            return
        self.cleanup_count += 1
        self.tracker._add_event("cleanup", 0, f"Memory cleanup performed ({word})")

    def _clean(self, aggressive: bool) -> None:
        torch = torch_or_none() if self.tracker.backend in ("cuda", "rocm", "mps") else None
        framework = None if torch is None else torch.mps if self.tracker.backend == "mps" else torch.cuda
        if framework is not None:
            framework.empty_cache()
        if not aggressive:
            return
        gc.collect()
        if framework is not None:
            framework.synchronize()
            framework.empty_cache()

    def force_cleanup(self, aggressive: bool = False) -> None:
        """At once, whatever the interval."""
        self._perform_cleanup(aggressive)

    def get_cleanup_stats(self) -> Dict[str, Any]:
        return {
            "cleanup_count": self.cleanup_count,
            "last_cleanup_time": self.last_cleanup_time,
            "auto_cleanup_enabled": self.auto_cleanup,
            "cleanup_threshold": self.cleanup_threshold,
            "aggressive_cleanup_threshold": self.aggressive_cleanup_threshold,
        }
