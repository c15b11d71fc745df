# SPDX-License-Identifier: MIT
"""Pictures of TensorFlow profiles, drawn by our own C code; .svg, .html or .png. Sizes are MB."""

from __future__ import annotations

import csv
import logging
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._figure import Figure, finish
from .._files import write_json_whole

logger = logging.getLogger(__name__)

_MIN_HEATMAP_SNAPSHOTS = 10
_PIXELS_PER_INCH = 100


def _series(results: Any) -> Tuple[List[float], List[float]]:
    """Seconds since the first, MB; of a profile or of a tracking result."""
    if hasattr(results, "memory_usage"):
        times, values = list(results.timestamps), list(results.memory_usage)
    else:
        times = [snapshot.timestamp for snapshot in results.snapshots]
        values = [snapshot.gpu_memory_mb for snapshot in results.snapshots]
    return [moment - times[0] for moment in times] if times else [], values


class MemoryVisualizer:
    """Draws profiles and tracking results. Without data a line is logged and None returned."""

    def __init__(self, style: str = "default", figure_size: Tuple[float, float] = (12, 8)) -> None:
        self.style = style
        self.figure_size = figure_size

    def _figure(self, title: str, columns: int = 1) -> Figure:
        width, height = (int(inches * _PIXELS_PER_INCH) for inches in self.figure_size)
        return Figure(title, width, height, columns)

    def plot_memory_timeline(self, results: Any, interactive: bool = False, save_path: Any = None) -> Optional[Figure]:
        seconds, values = _series(results)
        if not values:
            logger.warning("there is no data to plot")
            return None
        figure = self._figure("TensorFlow memory")
        figure.panel("lines", "Memory", "seconds", "MB")
        figure.series("memory", seconds, values)
        return finish(figure, save_path)

    def plot_function_comparison(self, function_profiles: Mapping[str, Dict[str, Any]],
                                 save_path: Any = None) -> Optional[Figure]:
        if not function_profiles:
            logger.warning("there are no functions to plot")
            return None
        figure = self._figure("TensorFlow functions", 2)
        for title, key, unit in (("Peak memory", "peak_memory", "MB"), ("Total duration", "total_duration", "s")):
            figure.panel("bars", title, "", unit)
            for name in function_profiles:
                figure.label(name)
            figure.series(title, None, [profile[key] for profile in function_profiles.values()])
        return finish(figure, save_path)

    def create_memory_heatmap(self, results: Any, save_path: Any = None) -> Optional[Figure]:
        """Ten slices of time; at least 10 snapshots."""
        snapshots = results.snapshots
        if len(snapshots) < _MIN_HEATMAP_SNAPSHOTS:
            logger.warning("a heat map needs %d snapshots, there are %d", _MIN_HEATMAP_SNAPSHOTS, len(snapshots))
            return None
        figure = self._figure("TensorFlow memory over time")
        figure.panel("cells", "Means by slice of time")
        size = len(snapshots) / 10
        slices = [snapshots[int(i * size):int((i + 1) * size)] for i in range(10)]
        for number in range(10):
            figure.label(f"slice {number + 1}")
        for title, attribute in (("GPU MB", "gpu_memory_mb"), ("CPU MB", "cpu_memory_mb")):
            figure.series(title, None, [sum(getattr(s, attribute) for s in part) / len(part) for part in slices])
        return finish(figure, save_path)

    def create_interactive_dashboard(self, results: Any, port: int = 8050) -> Optional[str]:
        """A page with the timeline and the functions, opened in a browser; there is no server, ``port`` is not used."""
        seconds, values = _series(results)
        if not values:
            logger.warning("there is no data to plot")
            return None
        figure = self._figure("TensorFlow memory", 2)
        figure.panel("lines", "Memory", "seconds", "MB")
        figure.series("memory", seconds, values)
        figure.panel("bars", "Peak memory by function", "", "MB")
        profiles = getattr(results, "function_profiles", {})
        for name in profiles:
            figure.label(name)
        figure.series("peak", None, [profile["peak_memory"] for profile in profiles.values()])
        return figure.show()

    def export_data(self, results: Any, output_path: Any, format: str = "csv") -> None:
        """csv: seconds and MB; json: the whole result."""
        if format == "json":
            write_json_whole(output_path, asdict(results))
        elif format == "csv":
            os.makedirs(os.path.dirname(os.fspath(output_path)) or ".", exist_ok=True)
            with open(output_path, "w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(("seconds", "memory_mb"))
                writer.writerows(zip(*_series(results)))
        else:
            raise ValueError(f"Unsupported format: {format!r}; expected csv or json")

    def save_plots(self, results: Any, output_dir: Any = "./plots/") -> List[str]:
        """``timeline.svg``, ``function_comparison.svg``, ``heatmap.svg``: those for which there is data."""
        folder = Path(output_dir)
        drawn = {
            "timeline": self.plot_memory_timeline(results),
            "function_comparison": self.plot_function_comparison(getattr(results, "function_profiles", {})),
            "heatmap": self.create_memory_heatmap(results) if hasattr(results, "snapshots") else None,
        }
        return [figure.save(folder / f"{name}.svg") for name, figure in drawn.items() if figure is not None]
