# SPDX-License-Identifier: MIT
"""Spikes of hidden memory that belong to collective operations: several ranks at once, near events that name one."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, List, Mapping, Optional, Sequence

from . import _read
from .telemetry import TelemetryEventV2

_MEDIUM: Mapping[str, Any] = _read.collective_config("medium", {})


@dataclass(frozen=True)
class CollectiveAttributionConfig:
    """The thresholds; see resolve_collective_attribution_config."""

    preset: str = "medium"
    min_samples_per_rank: int = _MEDIUM["min_samples_per_rank"]
    min_gap_bytes: int = _MEDIUM["min_gap_bytes"]
    min_gap_ratio: float = _MEDIUM["min_gap_ratio"]
    robust_zscore_threshold: float = _MEDIUM["robust_zscore_threshold"]
    marker_window_ns: int = _MEDIUM["marker_window_ns"]
    interval_padding_ns: int = _MEDIUM["interval_padding_ns"]
    synchrony_window_ns: int = _MEDIUM["synchrony_window_ns"]
    min_synchrony_ratio: float = _MEDIUM["min_synchrony_ratio"]
    min_confidence: float = _MEDIUM["min_confidence"]


@dataclass
class CollectiveAttributionEvidence:
    """The evidence for an attribution; ``evidence.marker_hits`` and ``evidence["marker_hits"]`` are the same."""

    marker_hits: int = 0
    synchronized_ranks: int = 0
    expected_world_size: int = 0
    synchrony_ratio: float = 0.0
    peak_gap_bytes: int = 0
    peak_gap_ratio: Optional[float] = None
    robust_zscore: float = 0.0

    def __getitem__(self, name: str) -> Any:
        if name not in self.__dict__:
            raise KeyError(name)
        return self.__dict__[name]


@dataclass
class CollectiveAttributionResult:
    """One interval of one rank."""

    rank: int
    interval_start_ns: int
    interval_end_ns: int
    classification: str
    confidence: float
    reason_codes: List[str] = field(default_factory=list)
    evidence: CollectiveAttributionEvidence = field(default_factory=CollectiveAttributionEvidence)


def resolve_collective_attribution_config(preset: str = "medium",
                                          overrides: Optional[Mapping[str, float]] = None
                                          ) -> CollectiveAttributionConfig:
    """The thresholds of ``low``, ``medium`` or ``high``, with individual ones replaced. Raises ValueError for an unknown
    preset, an unknown name ("Unknown collective attribution override") or a value out of range."""
    values = _read.collective_config(preset, dict(overrides or {}))
    return CollectiveAttributionConfig(preset=preset.strip().lower(), **values)


def attribute_collective_memory(events: Sequence[TelemetryEventV2], *,
                                config: Optional[CollectiveAttributionConfig] = None, preset: str = "medium",
                                overrides: Optional[Mapping[str, float]] = None
                                ) -> List[CollectiveAttributionResult]:
    """The intervals in which hidden memory looks like a communication library's, by rank and time."""
    if config is None:
        config = resolve_collective_attribution_config(preset, overrides)
    values = asdict(config)
    found = _read.attribute_collective(events, values.pop("preset"), values)
    return [CollectiveAttributionResult(**{**result, "evidence": CollectiveAttributionEvidence(**result["evidence"])})
            for result in found]
