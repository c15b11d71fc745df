# SPDX-License-Identifier: MIT
"""What the tab Diagnostics knows about several ranks, for programs: artifacts as events, and a table of ranks.

`stormlog ranks` answers the same question with lines and steps, and reads recordings as well; this is the Python tool's interface.
"""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple, Union

from .. import _read
from ..collective_attribution import attribute_collective_memory
from ..gap_analysis import GAP_THRESHOLDS, analyze_hidden_memory_gaps
from ..telemetry import TelemetryEventV2, _event_from_checked

__all__ = ["AnomalyIndicator", "ArtifactLoadResult", "DistributedDiagnosticsModel", "RankDiagnosticsRow",
           "build_distributed_model", "load_distributed_artifacts", "parse_rank_filter"]

# Names of telemetry in a folder: those of the trackers, files per rank, and, last, what `diagnose` writes.
_PATTERNS = ("*events*.json", "*events*.jsonl", "*events*.csv", "*track*.json", "*track*.jsonl", "*track*.csv",
             "rank*.json", "rank*.jsonl", "rank*.csv")
_TIMELINE = "telemetry_timeline.json"
_SUFFIXES = (".json", ".jsonl", ".csv", ".gz", ".zst")

_SEVERITIES = ("info", "warning", "critical")
_ALERTS = {"warning": "warning", "critical": "critical", "error": "critical"}
_GAP_RATIO = GAP_THRESHOLDS["gap_ratio_threshold"][1]
# From this confidence on a collective operation counts as this severe.
_COLLECTIVE = ((0.8, "critical"), (0.6, "warning"), (0.0, "info"))


@dataclass
class ArtifactLoadResult:
    events: List[TelemetryEventV2]
    warnings: List[str]
    sources_loaded: List[str]


@dataclass
class RankDiagnosticsRow:
    """One rank; ``availability`` is ``present`` or ``missing``, and ``samples`` counts events of every type."""

    rank: int
    availability: str
    samples: int = 0
    allocated_delta_bytes: int = 0
    reserved_delta_bytes: int = 0
    hidden_gap_latest_bytes: int = 0
    hidden_gap_peak_abs_bytes: int = 0
    has_anomaly: bool = False
    first_anomaly_timestamp_ns: Optional[int] = None
    first_anomaly_signal: Optional[str] = None


@dataclass
class AnomalyIndicator:
    """The ``earliest`` anomaly of all ranks, or the ``most_severe`` one."""

    kind: str
    rank: int
    severity: str
    timestamp_ns: int
    signal: str
    details: str
    confidence: Optional[float] = None
    reason_codes: List[str] = field(default_factory=list)


@dataclass
class DistributedDiagnosticsModel:
    rows: List[RankDiagnosticsRow]
    indicators: List[AnomalyIndicator]
    expected_ranks: List[int]
    present_ranks: List[int]
    missing_ranks: List[int]
    per_rank_timelines: Dict[int, Dict[str, List[int]]]
    warnings: List[str] = field(default_factory=list)


def parse_rank_filter(expr: str, available_ranks: Sequence[int]) -> Set[int]:
    """The ranks that ``0,2,4-6`` names, of those there are; ``all``, ``*`` and an empty text mean all. ValueError for a range that is
    malformed or ends before it starts."""
    chosen: Set[int] = set()
    text = (expr or "").strip().lower()
    for part in text.split(",") if text not in ("", "all", "*") else ["0-"]:
        start, dash, end = (word.strip() for word in part.partition("-"))
        if not start.isdecimal() or (end and not end.isdecimal()) or (dash and not end and part != "0-"):
            raise ValueError(f"Invalid rank filter: {part.strip()!r}; expected a number or a range such as 4-6")
        first = int(start)
        last = max(available_ranks, default=0) if part == "0-" else int(end or start)
        if first > last:
            raise ValueError(f"Invalid rank range {part.strip()!r}: start>end")
        chosen.update(rank for rank in available_ranks if first <= rank <= last)
    return chosen


# ---- artifacts ----


def _files_of(folder: Path) -> List[Path]:
    found: Dict[Path, None] = {}
    for pattern in (*_PATTERNS, _TIMELINE):
        found.update(dict.fromkeys(sorted(folder.rglob(pattern))))
    return list(found)


def _find_files(path: Path, warnings: List[str]) -> List[Path]:
    if path.is_dir():
        files = _files_of(path)
        if not files:
            warnings.append(f"{path}: no telemetry file found in this folder")
        return files
    if not path.exists():
        warnings.append(f"{path}: there is no such file or folder")
        return []
    if path.suffix.lower() not in _SUFFIXES:
        warnings.append(f"{path}: unsupported artifact type {path.suffix or 'without a suffix'!r}; "
                        "expected .json, .jsonl, .csv or a folder")
        return []
    return [path]


class _Loading:
    """Files that name no rank (a series of readings) get theirs last: the one in their path, or the lowest that nobody has."""

    def __init__(self) -> None:
        self.events: List[TelemetryEventV2] = []
        self.result = ArtifactLoadResult([], [], [])
        self.unranked: List[Tuple[Path, List[TelemetryEventV2]]] = []

    def read(self, path: Path) -> None:
        try:
            records, left_out, _, is_ranked = _read.load_records(path, skips_bad=True,
                                                                 reads_bundle_names=path.name == "events.json")
        except (OSError, ValueError) as error:
            self.result.warnings.append(str(error))
            return
        events = [_event_from_checked(record) for record in records]
        self.result.warnings += [f"{path}: {text}" for text in left_out]
        self.result.sources_loaded.append(str(path))
        if is_ranked:
            self.events += events
        else:
            self.result.warnings.append(f"Synthesized telemetry events from {path}: it contains only readings")
            self.unranked.append((path, events))

    def name_ranks(self) -> None:
        taken = {event.rank for event in self.events}
        named = [(_read.rank_of_path(path), events) for path, events in self.unranked]
        taken |= {rank for rank, _ in named if rank is not None}
        for rank, events in named:
            if rank is None:
                rank = next(number for number in range(len(taken) + 1) if number not in taken)
            taken.add(rank)
            for event in events:
                event.rank = event.local_rank = rank
            self.events += events
        world = max([event.world_size for event in self.events] + [len(taken), max(taken, default=0) + 1])
        for _, events in named:
            for event in events:
                event.world_size = world

    def finish(self) -> ArtifactLoadResult:
        self.name_ranks()
        unique = {(e.timestamp_ns, e.rank, e.local_rank, e.world_size, e.event_type, e.allocator_allocated_bytes,
                   e.allocator_reserved_bytes, e.device_used_bytes, e.context): e for e in reversed(self.events)}
        self.result.events = sorted(unique.values(), key=lambda event: (event.timestamp_ns, event.rank))
        return self.result


def load_distributed_artifacts(paths: Iterable[Union[str, "os.PathLike[str]"]]) -> ArtifactLoadResult:
    """The events of telemetry files, bundles and folders of them, each once, in the order of time. What cannot be read is a warning."""
    loading = _Loading()
    for given in paths:
        for path in _find_files(Path(given).expanduser().resolve(), loading.result.warnings):
            loading.read(path)
    return loading.finish()


# ---- the model ----


# What an anomaly is before one of them is chosen.
_CANDIDATE = "candidate"


def _gap(event: Any) -> int:
    return int(event.device_used_bytes - event.allocator_reserved_bytes)


def _is_breach(event: Any) -> bool:
    return bool(event.device_total_bytes) and abs(_gap(event)) >= _GAP_RATIO * event.device_total_bytes


def _event_anomalies(rank: int, events: Sequence[Any]) -> Iterator[AnomalyIndicator]:
    for event in events:
        if event.event_type in _ALERTS:
            yield AnomalyIndicator(_CANDIDATE, rank, _ALERTS[event.event_type], event.timestamp_ns, f"alert:{event.event_type}", event.context or "")
        if _is_breach(event):
            yield AnomalyIndicator(_CANDIDATE, rank, "warning", event.timestamp_ns, "gap_ratio_breach",
                           f"{_gap(event)} of {event.device_total_bytes} bytes are hidden")


def _gap_anomalies(rank: int, events: Sequence[Any]) -> Iterator[AnomalyIndicator]:
    if not any(event.device_total_bytes for event in events):
        return  # a share of the card cannot be told
    start = next((event for event in events if _is_breach(event)), events[0])
    for finding in analyze_hidden_memory_gaps(events):
        yield AnomalyIndicator(_CANDIDATE, rank, finding.severity, start.timestamp_ns, f"gap:{finding.classification}", finding.description,
                       finding.confidence)


def _collective_anomalies(events: Sequence[Any]) -> Iterator[AnomalyIndicator]:
    if not any(event.device_total_bytes for event in events):
        return
    for result in attribute_collective_memory(events, preset="medium"):
        severity = next(name for least, name in _COLLECTIVE if result.confidence >= least)
        yield AnomalyIndicator(_CANDIDATE, result.rank, severity, result.interval_start_ns, f"collective:{result.classification}",
                       f"{result.evidence.marker_hits} markers, {result.evidence.synchronized_ranks} ranks at once",
                       result.confidence, list(result.reason_codes))


def _row(rank: int, events: Sequence[Any], anomalies: Sequence[AnomalyIndicator]) -> RankDiagnosticsRow:
    if not events:
        return RankDiagnosticsRow(rank, "missing")
    first, last = events[0], events[-1]
    found = min(anomalies, key=lambda anomaly: anomaly.timestamp_ns, default=None)
    return RankDiagnosticsRow(
        rank, "present", len(events),
        last.allocator_allocated_bytes - first.allocator_allocated_bytes,
        last.allocator_reserved_bytes - first.allocator_reserved_bytes,
        _gap(last), max(abs(_gap(event)) for event in events), found is not None,
        found.timestamp_ns if found else None, found.signal if found else None)


def _indicators(anomalies: Sequence[AnomalyIndicator]) -> List[AnomalyIndicator]:
    if not anomalies:
        return []
    earliest = min(anomalies, key=lambda anomaly: (anomaly.timestamp_ns, -_SEVERITIES.index(anomaly.severity)))
    worst = min(anomalies, key=lambda anomaly: (-_SEVERITIES.index(anomaly.severity), anomaly.timestamp_ns))
    return [replace(earliest, kind="earliest"), replace(worst, kind="most_severe")]


def build_distributed_model(events: Sequence[TelemetryEventV2],
                            selected_ranks: Optional[Set[int]] = None) -> DistributedDiagnosticsModel:
    """A row for every rank that the job should have, the samples of each, and which anomaly was first. Collective operations are looked
    for in all ranks, also when only some are selected."""
    ranks: Dict[int, List[Any]] = defaultdict(list)
    for event in sorted(events, key=lambda event: event.timestamp_ns):
        ranks[event.rank].append(event)
    worlds = sorted({event.world_size for event in events})
    expected = sorted(set(range(max(worlds, default=0))) | set(ranks))
    if selected_ranks is not None:
        expected = [rank for rank in expected if rank in selected_ranks]
    present = [rank for rank in expected if rank in ranks]
    anomalies: Dict[int, List[AnomalyIndicator]] = defaultdict(list)
    for anomaly in _collective_anomalies(events):
        anomalies[anomaly.rank].append(anomaly)
    for rank in present:
        anomalies[rank] += [*_event_anomalies(rank, ranks[rank]), *_gap_anomalies(rank, ranks[rank])]
    return DistributedDiagnosticsModel(
        rows=[_row(rank, ranks.get(rank, []), anomalies[rank]) for rank in expected],
        indicators=_indicators([anomaly for rank in present for anomaly in anomalies[rank]]),
        expected_ranks=expected,
        present_ranks=present,
        missing_ranks=[rank for rank in expected if rank not in ranks],
        per_rank_timelines={rank: {"timestamps_ns": [event.timestamp_ns for event in ranks[rank]],
                                   "allocated": [event.allocator_allocated_bytes for event in ranks[rank]],
                                   "reserved": [event.allocator_reserved_bytes for event in ranks[rank]]} for rank in present},
        warnings=[f"world_size differs between events: {', '.join(map(str, worlds))}"] if len(worlds) > 1 else [])
