# SPDX-License-Identifier: MIT
"""What all trackers share: events, the sampling thread, the evidence file, exports. No framework is imported here.

Locking: ``_events_lock`` guards events, statistics and the evidence file; it is held for microseconds and never while a
callback or a collector runs.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import socket
import threading
import time
from collections import deque
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, Deque, Dict, Iterable, List, Optional, Tuple

from ._collectors import DeviceMemoryCollector, DeviceMemorySample
from ._files import create_file, own_temporary_folder, private_file_mode, private_folder_mode, remove_temporary
from ._repeat import Repeater
from .telemetry import (SCHEMA_VERSION_V2, TelemetryEventV2, resolve_distributed_identity, telemetry_event_from_record,
                        write_telemetry_records)
from .utils import format_bytes

logger = logging.getLogger(__name__)

ALERT_TYPES = ("warning", "critical", "error")
JOIN_TIMEOUT_S = 5.0
ERROR_PAUSE_S = 1.0
EVIDENCE_MAX_BYTES = 64 * 1024 ** 2  # size of one file; a full one is renamed to <name>.old, so that two are kept


@dataclass
class TrackingEvent:
    """What happened at one moment. ``timestamp`` is wall-clock seconds, ``timestamp_ns`` the same exactly."""

    timestamp: float
    event_type: str
    memory_allocated: int
    memory_reserved: int
    memory_change: int
    device_id: int
    context: Optional[str] = None
    job_id: Optional[str] = None
    rank: int = 0
    local_rank: int = 0
    world_size: int = 1
    metadata: Optional[Dict[str, Any]] = None
    active_memory: Optional[int] = None
    inactive_memory: Optional[int] = None
    device_used: Optional[int] = None
    device_free: Optional[int] = None
    device_total: Optional[int] = None
    backend: str = "cuda"
    timestamp_ns: Optional[int] = None


class Clock:
    """Wall-clock nanoseconds that never go back: the wall clock at the start plus a monotonic difference."""

    def __init__(self) -> None:
        self._wall_ns = time.time_ns()
        self._start_ns = time.monotonic_ns()

    def now_ns(self) -> int:
        return self._wall_ns + time.monotonic_ns() - self._start_ns


class EvidenceFile:
    """Every event as one line of JSON, on disk from the first one: a killed process loses nothing. In the folder that
    STORMLOG_DIR names, else in that of the out-of-memory bundles, else below the system's temporary folder, where it is removed
    when the interpreter exits normally. Always a new file, so no other user can have put it there."""

    _numbers = iter(range(1, 1 << 62))
    _temporary: List[Tuple[int, Path]] = []  # the process that made it, the file

    def __init__(self, dump_dir: Optional[str], kind: str) -> None:
        named = os.environ.get("STORMLOG_DIR") or dump_dir
        folder = Path(named) if named else own_temporary_folder()
        if named:
            folder.mkdir(parents=True, exist_ok=True, mode=private_folder_mode())
        self.path, self._file = self._create(folder, kind)
        self._bytes = 0
        if not named:
            if not self._temporary:
                atexit.register(self._remove_temporary)
            self._temporary.append((os.getpid(), self.path))

    @classmethod
    def _create(cls, folder: Path, kind: str) -> Tuple[Path, Optional[FileIO]]:
        """An earlier process with the same number may have left files, so the first free name is used."""
        while True:
            path = folder / f"{kind}_events_{os.getpid()}_{next(cls._numbers)}.jsonl"
            try:
                return path, cls._open_new(path)
            except FileExistsError:
                continue

    @staticmethod
    def _open_new(path: Path) -> FileIO:
        return FileIO(create_file(path, os.O_WRONLY | os.O_APPEND, private_file_mode()), "a")

    def append(self, record: Dict[str, Any]) -> None:
        line = json.dumps(record, separators=(",", ":"), default=str).encode() + b"\n"
        if self._file is None:
            self._file = FileIO(os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC), "a")
        if self._bytes + len(line) > EVIDENCE_MAX_BYTES:
            self._rotate()
        self._bytes += self._file.write(line) or 0

    def close(self) -> None:
        """Closes the file; another event opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _rotate(self) -> None:
        self.close()
        os.replace(self.path, self.path.with_suffix(".jsonl.old"))
        self._file = self._open_new(self.path)
        self._bytes = 0

    @classmethod
    def _remove_temporary(cls) -> None:
        files = [path for owner, path in cls._temporary if owner == os.getpid()]
        remove_temporary(files + [path.with_suffix(".jsonl.old") for path in files])


class TrackerBase:
    """Samples a collector in a thread and keeps the events."""

    _evidence_kind = "tracker"
    # The contexts of the events.
    _words = {"start": "Memory tracking started", "stop": "Memory tracking stopped", "peak": "New peak memory",
              "allocation": "Memory allocated:", "deallocation": "Memory freed:"}

    def _init_tracking(self, *, collector: DeviceMemoryCollector, sampling_interval: float, max_events: int,
                       identity: Dict[str, Any], evidence_dir: Optional[str]) -> None:
        self.collector = collector
        self.backend = collector.name()
        self.sampling_interval = sampling_interval
        self.max_events = max_events
        self.distributed_identity = identity
        self.events: Deque[TrackingEvent] = deque(maxlen=max_events)
        self.is_tracking = False
        self.stats: Dict[str, Any] = self._fresh_stats()
        self._alerts: Deque[TrackingEvent] = deque(maxlen=max_events)
        self._events_lock = threading.RLock()
        self._clock = Clock()
        self._sequence = 0
        self._sampler = Repeater("stormlog-tracker", self._tick_or_tell, lambda: self.sampling_interval, at_once=False)
        self._evidence_dir = evidence_dir
        self._evidence: Optional[EvidenceFile] = None
        self._last_sample: Optional[DeviceMemorySample] = None
        self._peak_floor: Optional[int] = None
        self._last_peak_read: Optional[int] = None

    @staticmethod
    def _fresh_stats() -> Dict[str, Any]:
        return {
            "peak_memory": 0,
            "total_allocations": 0,
            "total_deallocations": 0,
            "total_allocation_bytes": 0,
            "total_deallocation_bytes": 0,
            "alert_count": 0,
            "tracking_start_time": None,
            "last_memory_check": None,
            "total_events": 0,
            "dropped_events": 0,
            "sampling_failures": 0,
        }

    # --- life -----------------------------------------------------------------------------------------------------

    def start_tracking(self) -> None:
        """Begins to sample; does nothing when it already does."""
        if self.is_tracking:
            return
        self.is_tracking = True
        self.stats["tracking_start_time"] = time.time()
        self._open_evidence()
        first = self._take_sample()
        # Memory allocated before the start is neither an allocation of the first tick nor a peak of this tracking.
        self._peak_floor = self._last_peak_read = self.collector.peak_bytes()
        self._add_event("start", 0, self._words["start"], sample=first)
        self._sampler.start()

    def stop_tracking(self) -> None:
        """Ends sampling, after one last sample; does nothing when it is not sampling."""
        if not self.is_tracking:
            return
        if not self._sampler.stop(JOIN_TIMEOUT_S):
            logger.warning("the tracking thread did not end within %g s; an alert callback may be blocking it",
                           JOIN_TIMEOUT_S)
        try:
            self._tick()
        except Exception as error:
            logger.debug("the last sample failed: %s", error)
        self.is_tracking = False
        self._add_event("stop", 0, self._words["stop"])

    def __enter__(self) -> Any:
        self.start_tracking()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stop_tracking()

    @property
    def evidence_path(self) -> Optional[str]:
        """The file that holds every event since start_tracking(); None before."""
        return str(self._evidence.path) if self._evidence is not None else None

    def _open_evidence(self) -> None:
        if self._evidence is not None:
            return
        try:
            self._evidence = EvidenceFile(self._evidence_dir, self._evidence_kind)
        except OSError as error:
            logger.warning("events are kept in memory only: %s", error)

    # --- sampling -------------------------------------------------------------------------------------------------

    def _tick_or_tell(self) -> None:
        try:
            self._tick()
        except Exception as error:
            self._add_event("error", 0, f"Tracking error: {error}")
            self._sampler.pause(ERROR_PAUSE_S)

    def _take_sample(self) -> Optional[DeviceMemorySample]:
        """A new sample, or None when the device could not be read; such failures are counted, never shown as 0 bytes."""
        try:
            self._last_sample = self.collector.sample()
            return self._last_sample
        except Exception as error:
            with self._events_lock:
                self.stats["sampling_failures"] += 1
            logger.debug("sampling failed: %s", error)
            return None

    def _safe_sample(self) -> DeviceMemorySample:
        """A new sample; the last good one when the device cannot be read; all values unknown if there is none yet."""
        return self._take_sample() or self._last_sample or DeviceMemorySample(0, 0, 0, None, None, None, None, -1)

    def _tick(self) -> None:
        previous = self._last_sample
        sample = self._take_sample()
        if sample is None:
            return
        change = sample.allocated_bytes - (previous.allocated_bytes if previous else sample.allocated_bytes)
        with self._events_lock:
            self.stats["last_memory_check"] = time.time()
        self._add_event("sample", change, None, sample=sample)
        self._note_peak(sample, change)
        if change:
            self._note_change(sample, change)
        self._check_alerts(sample, change)

    def _exact_peak(self, sample: DeviceMemorySample) -> int:
        """The allocator's own maximum where it was reached during this tracking, so that no peak between two ticks is
        lost; else what was sampled."""
        peak = self.collector.peak_bytes()
        if peak is None:
            return sample.allocated_bytes
        if self._last_peak_read is not None and peak < self._last_peak_read:
            self._peak_floor = 0  # the counter was reset: whatever it shows from now on is new
        self._last_peak_read = peak
        is_new = self._peak_floor is None or peak > self._peak_floor
        return max(peak, sample.allocated_bytes) if is_new else sample.allocated_bytes

    def _note_peak(self, sample: DeviceMemorySample, change: int) -> None:
        peak = self._exact_peak(sample)
        with self._events_lock:
            if peak <= self.stats["peak_memory"]:
                return
            self.stats["peak_memory"] = peak
        self._add_event("peak", change, f"{self._words['peak']}: {format_bytes(peak)}", {"peak_bytes": peak}, sample)

    def _note_change(self, sample: DeviceMemorySample, change: int) -> None:
        kind = "allocation" if change > 0 else "deallocation"
        with self._events_lock:
            self.stats[f"total_{kind}s"] += 1
            self.stats[f"total_{kind}_bytes"] += abs(change)
        self._add_event(kind, change, f"{self._words[kind]} {format_bytes(abs(change))}", None, sample)

    def _check_alerts(self, sample: DeviceMemorySample, change: int) -> None:
        """Alert rules of the tracker; the base class has none."""

    # --- events ---------------------------------------------------------------------------------------------------

    def _add_event(self, event_type: str, memory_change: int = 0, context: Optional[str] = None,
                   metadata: Optional[Dict[str, Any]] = None, sample: Optional[DeviceMemorySample] = None) -> TrackingEvent:
        sample = sample or self._safe_sample()
        with self._events_lock:
            # Under the lock, so that the order of the events is that of their times.
            now_ns = self._clock.now_ns()
            self._sequence += 1
            event = TrackingEvent(
                timestamp=now_ns / 1e9, event_type=event_type, memory_allocated=sample.allocated_bytes,
                memory_reserved=sample.reserved_bytes, memory_change=memory_change, device_id=sample.device_id,
                context=context, **self.distributed_identity, metadata={**(metadata or {}), "sequence": self._sequence},
                active_memory=sample.active_bytes, inactive_memory=sample.inactive_bytes, device_used=sample.used_bytes,
                device_free=sample.free_bytes, device_total=sample.total_bytes, backend=self.backend,
                timestamp_ns=now_ns)
            self.stats["total_events"] += 1
            if len(self.events) == self.max_events:
                self.stats["dropped_events"] += 1
            self.events.append(event)
            if event_type in ALERT_TYPES:
                self._alerts.append(event)
                self.stats["alert_count"] += 1
            self._keep_evidence(event)
        if event_type in ALERT_TYPES:
            self._call_alert_callbacks(event)
        return event

    def _call_alert_callbacks(self, event: TrackingEvent) -> None:
        """Trackers with callbacks override this."""

    def _keep_evidence(self, event: TrackingEvent) -> None:
        if self._evidence is None:
            return
        try:
            self._evidence.append(self._event_record(event))
            if not self.is_tracking:
                self._evidence.close()
        except OSError as error:
            logger.warning("the evidence file '%s' is given up: %s", self._evidence.path, error)
            self._evidence = None

    def _event_list(self) -> List[TrackingEvent]:
        with self._events_lock:
            return list(self.events)

    def get_events(self, event_type: Optional[str] = None, last_n: Optional[int] = None,
                   since: Optional[float] = None) -> List[TrackingEvent]:
        """Events of one type, not older than ``since`` (seconds), the last ``last_n`` of them."""
        found = self._event_list()
        if event_type:
            found = [event for event in found if event.event_type == event_type]
        if since:
            found = [event for event in found if event.timestamp >= since]
        return found[-last_n:] if last_n else found

    def clear_events(self) -> None:
        """Forgets events, peak and counters; tracking goes on."""
        with self._events_lock:
            start = self.stats["tracking_start_time"]
            self.events.clear()
            self._alerts.clear()
            self.stats = {**self._fresh_stats(), "tracking_start_time": start}

    # --- export ---------------------------------------------------------------------------------------------------

    def _record_metadata(self) -> Dict[str, Any]:
        """Keys that are added to the metadata of every exported record."""
        return {}

    def _event_record(self, event: TrackingEvent) -> Dict[str, Any]:
        """The event as a version 2 record."""
        used = max(event.memory_allocated, event.memory_reserved) if event.device_used is None else event.device_used
        total = event.device_total
        return {
            "schema_version": SCHEMA_VERSION_V2,
            "timestamp_ns": int(event.timestamp * 1e9) if event.timestamp_ns is None else event.timestamp_ns,
            "event_type": event.event_type,
            "collector": f"stormlog.{event.backend}_tracker",
            "sampling_interval_ms": round(self.sampling_interval * 1000),
            "pid": os.getpid(),
            "host": socket.gethostname() or "unknown",
            "job_id": event.job_id,
            "rank": event.rank,
            "local_rank": event.local_rank,
            "world_size": event.world_size,
            "device_id": event.device_id,
            "allocator_allocated_bytes": event.memory_allocated,
            "allocator_reserved_bytes": event.memory_reserved,
            "allocator_active_bytes": event.active_memory,
            "allocator_inactive_bytes": event.inactive_memory,
            "allocator_change_bytes": event.memory_change,
            "device_used_bytes": used if total is None else min(used, total),
            "device_free_bytes": event.device_free,
            "device_total_bytes": total,
            "context": event.context,
            "metadata": {**(event.metadata or {}), **self._record_metadata()},
        }

    def get_telemetry_events(self) -> List[TelemetryEventV2]:
        """All events as version 2 records, for the analyses."""
        return [telemetry_event_from_record(self._event_record(event)) for event in self._event_list()]

    def export_events(self, filename: Any, format: str = "csv") -> None:
        """Writes all events as version 2 records: ``csv``, ``json`` (an array) or ``jsonl``. Without events there is no
        file. ValueError for another format."""
        events = self._event_list()
        if events:
            write_telemetry_records((self._event_record(event) for event in events), filename, format)


def binned_timeline(events: Iterable[TrackingEvent], interval: float) -> Dict[str, List[Any]]:
    """The last values of each bin that has an event; one pass."""
    if interval <= 0:
        raise ValueError(f"interval must be > 0, found {interval}")
    bins: Dict[int, Tuple[int, int]] = {}
    first: Optional[float] = None
    for event in events:
        first = event.timestamp if first is None else first
        bins[int((event.timestamp - first) // interval)] = (event.memory_allocated, event.memory_reserved)
    numbers = sorted(bins)
    return {
        "timestamps": [(first or 0.0) + number * interval for number in numbers],
        "allocated": [bins[number][0] for number in numbers],
        "reserved": [bins[number][1] for number in numbers],
    }


def check_limits(sampling_interval: float, max_events: int) -> None:
    if sampling_interval <= 0:
        raise ValueError(f"sampling_interval must be > 0, found {sampling_interval}")
    if max_events <= 0:
        raise ValueError(f"max_events must be >= 1, found {max_events}")


def identity_of(job_id: Optional[str], rank: Optional[int], local_rank: Optional[int],
                world_size: Optional[int]) -> Dict[str, Any]:
    return resolve_distributed_identity(job_id=job_id, rank=rank, local_rank=local_rank, world_size=world_size)
