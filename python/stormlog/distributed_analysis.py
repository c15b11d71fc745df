# SPDX-License-Identifier: MIT
"""Several ranks on one time axis, and which of them grew first."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import _read
from .telemetry import TelemetryEventV2


@dataclass
class RankTimelinePoint:
    rank: int
    timestamp_ns: int
    aligned_timestamp_ns: int
    device_used_bytes: int
    allocator_reserved_bytes: int
    allocator_allocated_bytes: int
    allocator_change_bytes: int


@dataclass
class CrossRankMergeResult:
    job_id: Optional[str]
    world_size: int
    participating_ranks: List[int] = field(default_factory=list)
    missing_ranks: List[int] = field(default_factory=list)
    rank_sample_counts: Dict[int, int] = field(default_factory=dict)
    alignment_offsets_ns: Dict[int, int] = field(default_factory=dict)
    merged_points: List[RankTimelinePoint] = field(default_factory=list)
    notes: List[str] = field(default_factory=list)


@dataclass
class FirstCauseSuspect:
    rank: int
    first_spike_timestamp_ns: int
    aligned_first_spike_timestamp_ns: int
    peak_delta_bytes: int
    spike_window_samples: int
    lead_over_cluster_onset_ns: int
    confidence: str
    evidence: Dict[str, Any] = field(default_factory=dict)


@dataclass
class FirstCauseAnalysisResult:
    cluster_onset_timestamp_ns: Optional[int]
    suspects: List[FirstCauseSuspect] = field(default_factory=list)
    notes: List[str] = field(default_factory=list)


def _merge_result(found: Dict[str, Any]) -> CrossRankMergeResult:
    rows = found["rows"]
    return CrossRankMergeResult(
        job_id=found["job_id"],
        world_size=found["world_size"],
        participating_ranks=[rank for rank, _, _ in rows],
        missing_ranks=found["missing"],
        rank_sample_counts={rank: count for rank, count, _ in rows},
        alignment_offsets_ns={rank: offset for rank, _, offset in rows},
        merged_points=[RankTimelinePoint(*point) for point in found["points"]],
        notes=found["notes"][:found["merge_notes"]])


def _suspect(row: Tuple[Any, ...]) -> FirstCauseSuspect:
    *values, supporting = row
    suspect = FirstCauseSuspect(*values)
    suspect.evidence = {"device_used_delta_bytes": suspect.peak_delta_bytes,
                        "supporting_ranks_at_or_before_onset": supporting}
    return suspect


def _cause_result(found: Dict[str, Any]) -> FirstCauseAnalysisResult:
    return FirstCauseAnalysisResult(
        cluster_onset_timestamp_ns=found["onset_ns"],
        suspects=[_suspect(row) for row in found["suspects"]],
        notes=found["notes"][found["merge_notes"]:])


def merge_cross_rank_timelines(events: Sequence[TelemetryEventV2]) -> CrossRankMergeResult:
    """The samples of all ranks, shifted so that the first samples coincide."""
    return _merge_result(_read.merge_ranks(events))


def analyze_cross_rank_events(events: Sequence[TelemetryEventV2]
                              ) -> Tuple[CrossRankMergeResult, FirstCauseAnalysisResult]:
    """The merge, and the ranks that grew first, the most likely cause first."""
    found = _read.merge_ranks(events)
    return _merge_result(found), _cause_result(found)


def summarize_cross_rank_analysis(events: Sequence[TelemetryEventV2]) -> Dict[str, Any]:
    """Both as one JSON-ready dict."""
    merged, cause = analyze_cross_rank_events(events)
    return {
        "job_id": merged.job_id,
        "world_size": merged.world_size,
        "participating_ranks": merged.participating_ranks,
        "missing_ranks": merged.missing_ranks,
        "rank_sample_counts": {str(rank): count for rank, count in merged.rank_sample_counts.items()},
        "alignment_offsets_ns": {str(rank): offset for rank, offset in merged.alignment_offsets_ns.items()},
        "cluster_onset_timestamp_ns": cause.cluster_onset_timestamp_ns,
        "first_cause_suspects": [asdict(suspect) for suspect in cause.suspects],
        "notes": list(dict.fromkeys(merged.notes + cause.notes)),
    }
