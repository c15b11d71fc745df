# SPDX-License-Identifier: MIT
"""Analyses of TensorFlow profiles and tracking results. Sizes are MB."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .. import _read
from ..collective_attribution import (CollectiveAttributionResult, attribute_collective_memory,
                                      resolve_collective_attribution_config)
from ..gap_analysis import GAP_THRESHOLDS, GapFinding, analyze_hidden_memory_gaps

__all__ = ["GapFinding", "MemoryAnalyzer"]

_MIN_LEAK_VALUES = 10
_MIN_PATTERN_VALUES = 20
_EDGE = 5  # values at each end that are averaged

# what is measured, (limit, points taken off), the higher limit first
_PENALTIES = {
    "peak": ((8000.0, 3.0), (4000.0, 1.5)),
    "growth": ((200.0, 2.0), (100.0, 1.0)),
    "fragmentation": ((0.5, 2.0), (0.3, 1.0)),
}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _penalty(kind: str, value: float) -> float:
    return next((points for limit, points in _PENALTIES[kind] if value > limit), 0.0)


class MemoryAnalyzer:
    """``sensitivity`` is only stored, for compatibility; the thresholds are fixed."""

    def __init__(self, sensitivity: float = 0.05, collective_sensitivity: str = "medium",
                 collective_threshold_overrides: Optional[Mapping[str, float]] = None) -> None:
        self.sensitivity = sensitivity
        self.collective_config = resolve_collective_attribution_config(collective_sensitivity,
                                                                       collective_threshold_overrides)
        self.thresholds: Dict[str, float] = {name: default for name, (_, default) in GAP_THRESHOLDS.items()}

    # --- leaks and patterns ---------------------------------------------------------------------------------------

    def detect_memory_leaks(self, tracking_results: Any) -> List[Dict[str, Any]]:
        """monotonic_increase, memory_spikes, insufficient_cleanup; nothing below 10 values."""
        values = list(tracking_results.memory_usage)
        if len(values) < _MIN_LEAK_VALUES:
            return []
        found = [self._monotonic(values, tracking_results), self._spikes(values), self._cleanup(values)]
        return [leak for leak in found if leak is not None]

    def _monotonic(self, values: List[float], result: Any) -> Optional[Dict[str, Any]]:
        share = sum(later > earlier for earlier, later in zip(values, values[1:])) / (len(values) - 1)
        if share <= 0.7:
            return None
        return {"type": "monotonic_increase", "severity": "high" if share > 0.9 else "medium",
                "description": f"Memory grew in {share:.0%} of the samples",
                "growth_rate": _growth_of(result)}

    def _spikes(self, values: List[float]) -> Optional[Dict[str, Any]]:
        mean, deviation = _read.mean_stdev(values)
        spikes = [value for value in values if value > mean + 3 * deviation]
        if not spikes:
            return None
        return {"type": "memory_spikes", "severity": "medium",
                "description": f"{len(spikes)} samples lie more than three deviations above the mean",
                "spike_values": spikes}

    def _cleanup(self, values: List[float]) -> Optional[Dict[str, Any]]:
        initial, final = _mean(values[:_EDGE]), _mean(values[-_EDGE:])
        ratio = final / initial if initial > 0 else math.inf if final > 0 else 1.0
        if ratio <= 1.5:
            return None
        return {"type": "insufficient_cleanup", "severity": "medium",
                "description": f"Memory ends at {ratio:.1f} times its beginning", "initial_avg": initial,
                "final_avg": final}

    def detect_patterns(self, tracking_results: Any) -> List[Dict[str, Any]]:
        """periodic_pattern, step_pattern; nothing below 20 values."""
        values = list(tracking_results.memory_usage)
        if len(values) < _MIN_PATTERN_VALUES:
            return []
        found = [self._periodic(values), self._steps(values)]
        return [pattern for pattern in found if pattern is not None]

    def _periodic(self, values: List[float]) -> Optional[Dict[str, Any]]:
        size = min(10, len(values) // 4)
        chunks = [values[first:first + size] for first in range(0, len(values) - size + 1, size)]
        correlations = [_read.pearson(earlier, later) for earlier, later in zip(chunks, chunks[1:])]
        known = [value for value in correlations if not math.isnan(value)]
        if not known or _mean(known) <= 0.7:
            return None
        return {"type": "periodic_pattern", "description": f"The course repeats every {size} samples",
                "correlation": _mean(known), "period": size}

    def _steps(self, values: List[float]) -> Optional[Dict[str, Any]]:
        jumps = sum(abs(later - earlier) > 0.2 * abs(earlier) for earlier, later in zip(values, values[1:]) if earlier)
        if jumps <= 0.1 * len(values):
            return None
        return {"type": "step_pattern", "description": f"{jumps} samples jump by more than 20%", "step_count": jumps}

    # --- fragmentation and scores ---------------------------------------------------------------------------------

    def analyze_fragmentation(self, profile_result: Any) -> Dict[str, float]:
        """Share of the reserved memory that was not in use, over the snapshots."""
        shares = [1 - snapshot.gpu_memory_mb / snapshot.gpu_memory_reserved_mb
                  for snapshot in getattr(profile_result, "snapshots", []) if snapshot.gpu_memory_reserved_mb > 0]
        trend = _mean(shares[-_EDGE:]) - _mean(shares[:_EDGE]) if len(shares) >= 2 * _EDGE else 0.0
        return {"fragmentation_score": _mean(shares), "trend": trend, "max_fragmentation": max(shares, default=0.0),
                "min_fragmentation": min(shares, default=0.0)}

    def analyze_efficiency(self, profile_result: Any) -> float:
        """10 minus points for peak, growth, fragmentation and leaks; never below 0."""
        score = 10.0 - _penalty("peak", _peak_of(profile_result)) - _penalty("growth", _growth_of(profile_result))
        score -= _penalty("fragmentation", self.analyze_fragmentation(profile_result)["fragmentation_score"])
        if hasattr(profile_result, "memory_usage"):
            severities = {leak["severity"] for leak in self.detect_memory_leaks(profile_result)}
            score -= 3.0 if "high" in severities else 1.5 if severities else 0.0
        return max(0.0, score)

    def correlate_with_performance(self, profile_result: Any) -> Dict[str, Any]:
        profiles = getattr(profile_result, "function_profiles", {})
        rows = {name: _function_row(profile) for name, profile in profiles.items() if profile["calls"]}
        used = [row["avg_memory_per_call"] for row in rows.values()]
        durations = [row["avg_duration_per_call"] for row in rows.values()]
        r = _read.pearson(used, durations) if len(rows) > 1 else math.nan
        heavy = [name for name, row in rows.items() if row["avg_memory_per_call"] > 1000]
        return {"memory_duration_correlation": 0.0 if math.isnan(r) else r, "function_efficiency": rows,
                "recommendations": [f"{name} uses over 1000 MB a call" for name in heavy]}

    def score_optimization(self, profile_result: Any, events: Optional[Sequence[Any]] = None) -> Dict[str, Any]:
        """Three categories from 0 to 10, their mean, and what to do first."""
        fragmentation = self.analyze_fragmentation(profile_result)["fragmentation_score"]
        rows = self.correlate_with_performance(profile_result)["function_efficiency"]
        categories = {
            "memory_efficiency": self.analyze_efficiency(profile_result),
            "fragmentation": max(0.0, 10.0 * (1 - fragmentation)),
            "performance": _mean([row["efficiency_score"] for row in rows.values()]) if rows else 10.0,
        }
        low = [name for name, score in categories.items() if score < 6]
        report: Dict[str, Any] = {
            "overall_score": _mean(list(categories.values())),
            "categories": categories,
            "top_recommendations": _recommend(profile_result, fragmentation)[:5],
            "priority_actions": [f"Improve {name.replace('_', ' ')}: {categories[name]:.1f}/10" for name in low],
        }
        if events is not None:
            report["gap_analysis"] = [asdict(finding) for finding in self.analyze_memory_gaps(events)]
            report["collective_attribution"] = [asdict(item) for item in self.analyze_collective_attribution(events)]
        return report

    # --- telemetry ------------------------------------------------------------------------------------------------

    def analyze_memory_gaps(self, events: Sequence[Any]) -> List[GapFinding]:
        return analyze_hidden_memory_gaps(events, self.thresholds, tensorflow=True)

    def analyze_collective_attribution(self, events: Sequence[Any]) -> List[CollectiveAttributionResult]:
        return attribute_collective_memory(events, config=self.collective_config)


def _peak_of(result: Any) -> float:
    return getattr(result, "peak_memory_mb", None) or getattr(result, "peak_memory", 0.0)


def _growth_of(result: Any) -> float:
    """MB per second; results that somebody else made need not have it."""
    return getattr(result, "memory_growth_rate", 0.0)


def _function_row(profile: Mapping[str, Any]) -> Dict[str, Any]:
    used = profile["total_memory_used"] / profile["calls"]
    duration = profile["total_duration"] / profile["calls"]
    # A gigabyte held for a second costs half of the points.
    return {"avg_memory_per_call": used, "avg_duration_per_call": duration,
            "efficiency_score": 10.0 / (1.0 + max(0.0, used) * duration / 1024), "total_calls": profile["calls"]}


def _recommend(result: Any, fragmentation: float) -> List[str]:
    advice = [
        (_peak_of(result) > 4000, "Reduce the batch size or use mixed precision: the peak is above 4000 MB"),
        (_growth_of(result) > 100, "Look for tensors kept across steps: memory grows by over 100 MB/s"),
        (fragmentation > 0.3, "Enable memory growth and reuse shapes: over 30% of the peak is unused on average"),
    ]
    return [text for applies, text in advice if applies]
