# SPDX-License-Identifier: MIT
"""Pictures of profiles and ranks, drawn by our own C code: no plotting library is needed. Saved as .svg, .html or .png."""

from __future__ import annotations

import csv
import os
import time
from collections import defaultdict
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ._figure import Figure, finish
from ._files import write_json_whole
from .cpu_profiler import CPUMemorySnapshot
from .distributed_analysis import analyze_cross_rank_events

GIB = 1024 ** 3

# metric: (title, unit, value of one call, how calls are put together)
_METRICS = {
    "memory_allocated": ("Memory allocated", "GB", lambda call: call.memory_allocated / GIB, lambda v: sum(v) / len(v)),
    "execution_time": ("Execution time", "s", lambda call: call.execution_time, lambda v: sum(v) / len(v)),
    "peak_memory": ("Peak memory", "GB", lambda call: call.peak_memory_usage() / GIB, max),
}
_RESULT_COLUMNS = ("function_name", "execution_time", "memory_allocated", "memory_freed", "peak_memory", "memory_diff",
                   "tensors_created", "tensors_deleted")
_SNAPSHOT_COLUMNS = ("timestamp", "operation", "allocated_memory", "reserved_memory", "active_memory", "inactive_memory",
                     "device_id")
_HISTOGRAM_BINS = 20


class MemoryVisualizer:
    """Draws the results of a profiler, or lists given to the methods. Every plot method returns a figure with ``save``
    and ``show``; ``interactive`` is accepted for compatibility and ignored: there is one kind of picture."""

    def __init__(self, profiler: Any = None) -> None:
        self.profiler = profiler

    def _take(self, given: Optional[Sequence[Any]], name: str) -> List[Any]:
        if given is not None:
            return list(given)
        return list(getattr(self.profiler, name, [])) if self.profiler is not None else []

    @staticmethod
    def _points(results: List[Any], snapshots: List[Any]) -> Tuple[List[float], List[float], List[float]]:
        """Seconds since the earliest, allocated and reserved GB; in order of time."""
        points = list(snapshots)
        for result in results:
            points += [result.memory_before, result.memory_after]
        points.sort(key=lambda point: point.timestamp)
        first = points[0].timestamp if points else 0.0
        return ([point.timestamp - first for point in points], [point.allocated_memory / GIB for point in points],
                [point.reserved_memory / GIB for point in points])

    def plot_memory_timeline(self, results: Optional[Sequence[Any]] = None, snapshots: Optional[Sequence[Any]] = None,
                             save_path: Any = None, interactive: bool = True) -> Figure:
        """Allocated and reserved GB over seconds, one above the other. ValueError without data."""
        calls, points = self._take(results, "results"), self._take(snapshots, "snapshots")
        if not calls and not points:
            raise ValueError("there is no data to plot: no results and no snapshots")
        seconds, allocated, reserved = self._points(calls, points)
        is_host = _is_host(calls, points)
        figure = Figure("Main memory" if is_host else "GPU memory")
        for title, values in (("Resident", allocated),) if is_host else (("Allocated", allocated), ("Reserved", reserved)):
            figure.panel("lines", title, "seconds", "GB")
            figure.series(title, seconds, values)
        return finish(figure, save_path)

    def plot_cross_rank_timeline(self, events: Sequence[Any], save_path: Any = None) -> Figure:
        """One line per rank, the top suspect marked, the cluster's onset as a dashed line. ValueError without samples."""
        merged, cause = analyze_cross_rank_events(events)
        if not merged.merged_points:
            raise ValueError("there are no sample events to plot")
        first = merged.merged_points[0].aligned_timestamp_ns
        top = cause.suspects[0] if cause.suspects else None
        title = f"Device memory by rank, job {merged.job_id or 'unknown'}"
        figure = Figure(title if top is None else f"{title}, first cause: rank {top.rank} ({top.confidence})")
        figure.panel("lines", "Device used", "aligned seconds", "GB")
        for rank in merged.participating_ranks:
            points = [point for point in merged.merged_points if point.rank == rank]
            figure.series(f"rank {rank}", [(point.aligned_timestamp_ns - first) / 1e9 for point in points],
                          [point.device_used_bytes / GIB for point in points])
        if cause.cluster_onset_timestamp_ns is not None:
            figure.note("Cluster onset", (cause.cluster_onset_timestamp_ns - first) / 1e9)
        if top is not None:
            at = top.aligned_first_spike_timestamp_ns
            value = next(point.device_used_bytes for point in merged.merged_points
                         if point.rank == top.rank and point.aligned_timestamp_ns == at)
            figure.note(f"rank {top.rank}", (at - first) / 1e9, value / GIB)
        return finish(figure, save_path)

    def plot_function_comparison(self, results: Optional[Sequence[Any]] = None, metric: str = "memory_allocated",
                                 save_path: Any = None, interactive: bool = True) -> Figure:
        """A bar for each function; ``metric``: memory_allocated, execution_time or peak_memory."""
        if metric not in _METRICS:
            raise ValueError(f"Unknown metric: {metric!r}; expected one of {', '.join(_METRICS)}")
        calls = self._take(results, "results")
        if not calls:
            raise ValueError("there are no results to plot")
        figure = Figure("Functions", 1000, 600)
        self._add_bars(figure, calls, metric)
        return finish(figure, save_path)

    @staticmethod
    def _add_bars(figure: Figure, calls: List[Any], metric: str) -> None:
        title, unit, value_of, combine = _METRICS[metric]
        values: Dict[str, List[float]] = defaultdict(list)
        for call in calls:
            values[call.function_name].append(value_of(call))
        figure.panel("bars", title, "", unit)
        for name in values:
            figure.label(name)
        figure.series(title, None, [combine(found) for found in values.values()])

    def plot_memory_heatmap(self, results: Optional[Sequence[Any]] = None, save_path: Any = None) -> Figure:
        """Rows: functions by name; columns: mean seconds, allocated, freed and peak MB; colours by column."""
        calls = self._take(results, "results")
        if not calls:
            raise ValueError("there are no results to plot")
        groups: Dict[str, List[Any]] = defaultdict(list)
        for call in calls:
            groups[call.function_name].append(call)
        names = sorted(groups)
        figure = Figure("Functions", 1000, max(300, 120 + 40 * len(names)))
        figure.panel("cells", "Means by function")
        for name in names:
            figure.label(name)
        columns = (("seconds", lambda c: c.execution_time), ("allocated MB", lambda c: c.memory_allocated / 1024 ** 2),
                   ("freed MB", lambda c: c.memory_freed / 1024 ** 2),
                   ("peak MB", lambda c: c.peak_memory_usage() / 1024 ** 2))
        for title, value_of in columns:
            figure.series(title, None, [sum(map(value_of, groups[name])) / len(groups[name]) for name in names])
        return finish(figure, save_path)

    def create_dashboard(self, results: Optional[Sequence[Any]] = None, snapshots: Optional[Sequence[Any]] = None,
                         save_path: Any = None) -> Figure:
        """Timeline, mean memory, histogram of allocations, time against peak. Empty panels without data."""
        calls, points = self._take(results, "results"), self._take(snapshots, "snapshots")
        seconds, allocated, reserved = self._points(calls, points)
        is_host = _is_host(calls, points)
        figure = Figure("Main memory" if is_host else "GPU memory", 1400, 800, 2)
        figure.panel("lines", "Timeline", "seconds", "GB")
        figure.series("Resident" if is_host else "Allocated", seconds, allocated)
        if not is_host:
            figure.series("Reserved", seconds, reserved)
        self._add_bars(figure, calls, "memory_allocated")
        self._add_histogram(figure, [call.memory_allocated / 1024 ** 2 for call in calls])
        figure.panel("points", "Time and peak", "seconds", "GB")
        figure.series("calls", [call.execution_time for call in calls],
                      [call.peak_memory_usage() / GIB for call in calls])
        return finish(figure, save_path)

    @staticmethod
    def _add_histogram(figure: Figure, sizes: List[float]) -> None:
        figure.panel("bars", "Allocations by size", "MB", "calls")
        largest = max(sizes, default=0.0) or 1.0
        counts = [0] * _HISTOGRAM_BINS
        for size in sizes:
            counts[min(int(size / largest * _HISTOGRAM_BINS), _HISTOGRAM_BINS - 1)] += 1
        for number in range(_HISTOGRAM_BINS):
            # Every fourth: twenty labels would overlap.
            figure.label("" if number % 4 else f"{number * largest / _HISTOGRAM_BINS:.0f}")
        figure.series("calls", None, counts)

    def export_data(self, results: Optional[Sequence[Any]] = None, snapshots: Optional[Sequence[Any]] = None,
                    format: str = "csv", save_path: str = "memory_profile_data") -> str:
        """csv: ``<save_path>_results_<time>.csv`` and ``<save_path>_snapshots_<time>.csv``, each when it has rows; the
        path of the first one is returned. json: ``<save_path>_<time>.json``."""
        calls, points = self._take(results, "results"), self._take(snapshots, "snapshots")
        if format not in ("csv", "json"):
            raise ValueError(f"Unsupported format: {format!r}; expected csv or json")
        if not calls and not points:
            raise ValueError("there is no data to export: no results and no snapshots")
        stamp = time.strftime("%Y%m%d_%H%M%S")
        if format == "json":
            path = f"{save_path}_{stamp}.json"
            write_json_whole(path, {
                "metadata": {"export_time": stamp, "num_results": len(calls), "num_snapshots": len(points)},
                "results": [call.to_dict() for call in calls], "snapshots": [point.to_dict() for point in points]})
            return path
        written = []
        for kind, rows, columns in (("results", [_result_row(call) for call in calls], _RESULT_COLUMNS),
                                    ("snapshots", [_row(point, _SNAPSHOT_COLUMNS) for point in points], _SNAPSHOT_COLUMNS)):
            if rows:
                written.append(f"{save_path}_{kind}_{stamp}.csv")
                _write_csv(written[-1], rows, columns)
        return written[0]

    def show(self, fig: Figure) -> None:
        """Opens a figure in a browser."""
        fig.show()


def _is_host(calls: List[Any], points: List[Any]) -> bool:
    return isinstance((points or [call.memory_before for call in calls] or [None])[0], CPUMemorySnapshot)


def _row(source: Any, columns: Sequence[str]) -> Dict[str, Any]:
    return {name: getattr(source, name) for name in columns}


def _result_row(call: Any) -> Dict[str, Any]:
    own = _row(call, [name for name in _RESULT_COLUMNS if name not in ("peak_memory", "memory_diff")])
    return {**own, "peak_memory": call.peak_memory_usage(), "memory_diff": call.memory_diff()}


def _write_csv(path: str, rows: List[Dict[str, Any]], columns: Sequence[str]) -> None:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
