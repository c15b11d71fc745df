# SPDX-License-Identifier: MIT
"""The files of one tracked run, written together: what somebody needs to look at it later, or to attach to an issue."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, List, Tuple

from ._figure import Figure
from ._files import write_json_whole

GIB = 1024 ** 3
# Points of the timeline; finer than a screen has columns.
_TIMELINE_POINTS = 2000


def _timeline(tracker: Any) -> Dict[str, List[Any]]:
    events = tracker.get_events()
    seconds = events[-1].timestamp - events[0].timestamp if events else 0.0
    return tracker.get_memory_timeline(max(seconds / _TIMELINE_POINTS, tracker.sampling_interval / 2))


def _figure(tracker: Any, timeline: Dict[str, List[Any]]) -> Figure:
    is_host = tracker.backend == "cpu"
    figure = Figure(f"{'Main' if is_host else 'Device'} memory, {tracker.backend}", 1200, 600)
    first = timeline["timestamps"][0] if timeline["timestamps"] else 0.0
    seconds = [time - first for time in timeline["timestamps"]]
    figure.panel("lines", "Resident" if is_host else "Allocated and reserved", "seconds", "GB")
    names = (("Resident", "allocated"),) if is_host else (("Allocated", "allocated"), ("Reserved", "reserved"))
    for title, key in names:
        figure.series(title, seconds, [value / GIB for value in timeline[key]])
    for alert in tracker.get_alerts():
        figure.note(alert.event_type, alert.timestamp - first, alert.memory_allocated / GIB)
    return figure


def _json_files(tracker: Any, timeline: Dict[str, List[Any]]) -> Tuple[Tuple[str, Any], ...]:
    alerts = [tracker._event_record(alert) for alert in tracker.get_alerts()]
    return ("timeline.json", timeline), ("stats.json", tracker.get_statistics()), ("alerts.json", alerts)


def write_artifacts(tracker: Any, folder: Any) -> List[str]:
    """Writes ``events.json``, ``events.csv``, ``timeline.json``, ``stats.json``, ``alerts.json``, ``timeline.png`` and
    ``timeline.html``; returns their paths. Each file appears whole or not at all. Without cairo the picture is
    ``timeline.svg``. ValueError when nothing was tracked."""
    if not tracker.get_events():
        raise ValueError("there are no events to write: start_tracking() was not called")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    written = []
    for name in ("events.json", "events.csv"):
        tracker.export_events(place / name, format=name.rpartition(".")[2])
        written.append(place / name)
    timeline = _timeline(tracker)
    for name, value in _json_files(tracker, timeline):
        write_json_whole(place / name, value)
        written.append(place / name)
    return [os.fspath(path) for path in written] + _pictures(_figure(tracker, timeline), place)


def _pictures(figure: Figure, place: Path) -> List[str]:
    try:
        picture = figure.save(place / "timeline.png")
    except RuntimeError:  # a build without cairo
        picture = figure.save(place / "timeline.svg")
    return [picture, figure.save(place / "timeline.html")]
