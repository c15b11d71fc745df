# SPDX-License-Identifier: MIT
"""Hidden memory: what the device reports as used, minus what the framework's allocator has reserved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from . import _read
from .telemetry import TelemetryEventV2

# Name in `thresholds` of the analyzers: (name of the C function's argument, default).
GAP_THRESHOLDS = {
    "gap_ratio_threshold": ("ratio_threshold", 0.05),
    "gap_spike_zscore": ("spike_zscore", 2.0),
    "gap_drift_r_squared": ("drift_r_squared", 0.6),
    "gap_fragmentation_ratio": ("fragmentation_ratio", 0.3),
}


@dataclass
class GapFinding:
    """One class of hidden memory that the events show."""

    classification: str
    severity: str
    confidence: float
    evidence: Dict[str, Any] = field(default_factory=dict)
    description: str = ""
    remediation: List[str] = field(default_factory=list)


def analyze_hidden_memory_gaps(events: Sequence[TelemetryEventV2],
                               thresholds: Optional[Mapping[str, float]] = None,
                               format_memory: Optional[Callable[[int], str]] = None,
                               remediation_by_classification: Optional[Mapping[str, List[str]]] = None, *,
                               tensorflow: bool = False) -> List[GapFinding]:
    """At most one finding each of ``transient_spike``, ``persistent_drift`` and ``fragmentation_like``, the most severe
    first. ``thresholds`` takes the names of GAP_THRESHOLDS and ignores others. ``tensorflow`` chooses the advice;
    ``remediation_by_classification`` replaces it. ``format_memory`` is accepted; sizes are written in the same way everywhere."""
    given = thresholds or {}
    arguments = {argument: given.get(name, default) for name, (argument, default) in GAP_THRESHOLDS.items()}
    findings = [GapFinding(**found) for found in _read.analyze_gaps(events, tensorflow=tensorflow, **arguments)]
    if remediation_by_classification is not None:
        for finding in findings:
            finding.remediation = list(remediation_by_classification.get(finding.classification, []))
    return findings
