# SPDX-License-Identifier: MIT
"""MemoryAnalyzer: analyses measured calls and telemetry events. The arithmetic is in C, shared with the commands."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence

from . import _read
from .collective_attribution import (CollectiveAttributionResult, attribute_collective_memory,
                                     resolve_collective_attribution_config)
from .distributed_analysis import summarize_cross_rank_analysis
from .gap_analysis import GAP_THRESHOLDS, GapFinding, analyze_hidden_memory_gaps
from .telemetry import TelemetryEventV2

__all__ = ["GapFinding", "MemoryAnalyzer", "MemoryPattern", "PerformanceInsight"]

# Of measured calls; names as the C function takes them.
_CALL_THRESHOLDS = {
    "memory_leak_ratio": 0.1,
    "fragmentation_ratio": 0.3,
    "inefficient_allocation_ratio": 0.5,
    "slow_function_percentile": 0.9,
    "high_memory_percentile": 0.9,
    "min_calls_for_analysis": 3,
}
_MAX_RECOMMENDATIONS = 10


@dataclass
class MemoryPattern:
    """``severity``: info, warning or critical."""

    pattern_type: str
    description: str
    severity: str
    affected_functions: List[str] = field(default_factory=list)
    metrics: Dict[str, Any] = field(default_factory=dict)
    suggestions: List[str] = field(default_factory=list)


@dataclass
class PerformanceInsight:
    """``impact``: low, medium or high; ``confidence``: 0 to 1."""

    category: str
    title: str
    description: str
    impact: str
    confidence: float
    data: Dict[str, Any] = field(default_factory=dict)
    recommendations: List[str] = field(default_factory=list)


class MemoryAnalyzer:
    """Analyses the results of a profiler, or lists given to the methods. ``thresholds`` may be changed."""

    def __init__(self, profiler: Any = None, collective_sensitivity: str = "medium",
                 collective_threshold_overrides: Optional[Mapping[str, float]] = None) -> None:
        self.profiler = profiler
        self.collective_config = resolve_collective_attribution_config(collective_sensitivity,
                                                                       collective_threshold_overrides)
        self.thresholds: Dict[str, Any] = {**_CALL_THRESHOLDS,
                                           **{name: default for name, (_, default) in GAP_THRESHOLDS.items()}}

    # --- measured calls -------------------------------------------------------------------------------------------

    def _results(self, results: Optional[Sequence[Any]]) -> List[Any]:
        if results is not None:
            return list(results)
        return list(self.profiler.results) if self.profiler is not None else []

    def _report(self, results: Sequence[Any]) -> Dict[str, Any]:
        calls = [(r.function_name, float(r.execution_time), float(r.memory_before.timestamp),
                  float(r.memory_after.timestamp), r.memory_before.allocated_memory, r.memory_after.allocated_memory,
                  r.memory_after.reserved_memory, r.memory_peak.allocated_memory) for r in results]
        return _read.profile_report(calls, **{name: self.thresholds[name] for name in _CALL_THRESHOLDS})

    def analyze_memory_patterns(self, results: Optional[Sequence[Any]] = None) -> List[MemoryPattern]:
        """memory_leak, fragmentation, inefficient_allocation, memory_spikes, repeated_allocations."""
        return [MemoryPattern(**found) for found in self._report(self._results(results))["patterns"]]

    def generate_performance_insights(self, results: Optional[Sequence[Any]] = None) -> List[PerformanceInsight]:
        """execution_time, memory_efficiency, correlation, temporal."""
        return [PerformanceInsight(**found) for found in self._report(self._results(results))["insights"]]

    # --- telemetry ------------------------------------------------------------------------------------------------

    def analyze_memory_gaps(self, events: Sequence[TelemetryEventV2]) -> List[GapFinding]:
        """Hidden memory: the device's used bytes less the allocator's reserved ones."""
        return analyze_hidden_memory_gaps(events, self.thresholds)

    def analyze_cross_rank_timeline(self, events: Sequence[TelemetryEventV2]) -> Dict[str, Any]:
        """Which rank grew first."""
        return summarize_cross_rank_analysis(events)

    def analyze_collective_attribution(self, events: Sequence[TelemetryEventV2]) -> List[CollectiveAttributionResult]:
        """Hidden memory that belongs to collective operations."""
        return attribute_collective_memory(events, config=self.collective_config)

    # --- everything -----------------------------------------------------------------------------------------------

    def generate_optimization_report(self, results: Optional[Sequence[Any]] = None,
                                     events: Optional[Sequence[TelemetryEventV2]] = None) -> Dict[str, Any]:
        """All of it as one JSON-ready dict. ``gap_analysis`` and ``collective_attribution`` are there when events were
        given, ``cross_rank_analysis`` when they name more than one rank."""
        calls = self._results(results)
        found = self._report(calls)
        patterns, insights = found["patterns"], found["insights"]
        report: Dict[str, Any] = {
            "summary": _summarize(calls),
            "critical_issues": [pattern for pattern in patterns if pattern["severity"] == "critical"],
            "high_impact_insights": [insight for insight in insights if insight["impact"] == "high"],
            "all_patterns": patterns,
            "all_insights": insights,
            "recommendations": _recommend(patterns, insights),
            "optimization_score": found["score"],
        }
        if events is not None:
            report["gap_analysis"] = [asdict(finding) for finding in self.analyze_memory_gaps(events)]
            report["collective_attribution"] = [asdict(item) for item in self.analyze_collective_attribution(events)]
            if len({event.rank for event in events}) > 1:
                report["cross_rank_analysis"] = self.analyze_cross_rank_timeline(events)
        return report


def _summarize(results: Sequence[Any]) -> Dict[str, Any]:
    return {
        "total_functions_analyzed": len({result.function_name for result in results}),
        "total_function_calls": len(results),
        "total_memory_allocated": sum(result.memory_allocated for result in results),
        "total_execution_time": sum(result.execution_time for result in results),
        "analysis_timestamp": results[-1].memory_after.timestamp if results else None,
    }


def _recommend(patterns: List[Dict[str, Any]], insights: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Critical patterns, high-impact insights, then warnings."""
    def of_patterns(severity: str, priority: str) -> List[Dict[str, Any]]:
        return [{"priority": priority, "category": found["pattern_type"], "description": found["description"],
                 "suggestions": found["suggestions"]} for found in patterns if found["severity"] == severity]

    of_insights = [{"priority": "high", "category": found["category"], "description": found["description"],
                    "suggestions": found["recommendations"]} for found in insights if found["impact"] == "high"]
    chosen = of_patterns("critical", "high") + of_insights + of_patterns("warning", "medium")
    return chosen[:_MAX_RECOMMENDATIONS]
