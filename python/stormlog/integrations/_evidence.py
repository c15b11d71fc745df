# SPDX-License-Identifier: MIT
"""What a recording says, in the pieces that frameworks show: verdict, curves, ledger, page. All figures come from C."""

from __future__ import annotations

import csv
import html
import os
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from .. import reports
from .._files import write_json_whole, write_text_whole

_PathLike = Union[str, "os.PathLike[str]"]
_CURVES = ("live_requested_bytes", "peak_requested_bytes", "allocated_bytes", "peak_allocated_bytes", "reserved_bytes")
_ROWS = 10


def device_name(number: int) -> str:
    return "host" if number < 0 else f"gpu{number}"


def line_of(site: Optional[Dict[str, Any]]) -> str:
    """``train.py:12 in step``, or why there is no line."""
    if not site:
        return "(unknown line)"
    if site["file"] is None:
        return str(site.get("label", "(unknown line)"))
    return f"{site['file']}:{site['line']} in {site['function']}"


def human(size: Optional[int]) -> str:
    """Three digits, as the program prints sizes: ``4.00 MiB``."""
    if size is None:
        return "unknown"
    value, units = float(size), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{size} B" if units[0] == "B" else f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {units[0]}"


class Evidence:
    """A recording, or any other file that ``stormlog analyze`` reads. Everything is read when it is asked for. ``first_step``: the number
    of its first step, for a training that was resumed. ``rank``: of the process that was recorded."""

    def __init__(self, path: _PathLike, *, first_step: int = 0, rank: int = 0) -> None:
        self.path = os.fspath(path)
        self.first_step = first_step
        self.rank = rank
        self._report: Optional[Dict[str, Any]] = None

    @property
    def report(self) -> Dict[str, Any]:
        if self._report is None:
            self._report = reports.analyze(self.path, whatif=False, top=_ROWS)
        return self._report

    @property
    def verdict(self) -> str:
        return str(self.report["verdict"])

    @property
    def headline(self) -> str:
        return str(self.report["headline"])

    @property
    def peaks(self) -> Dict[str, Optional[int]]:
        """Peak bytes by device: those of torch's counter where the recording has them, else those requested."""
        return {device_name(row["device"]): row["peak_allocated_bytes"] or row["peak_requested_bytes"] for row in self.report["devices"]}

    def curves(self) -> Iterator[Tuple[int, int, Dict[str, int]]]:
        """(step from ``first_step``, its end in microseconds since 1970, figures by name), for every step and device."""
        with tempfile.TemporaryDirectory(prefix="stormlog-") as folder:
            table = os.path.join(folder, "steps.csv")
            reports.export(self.path, "steps-csv", table)
            with open(table, encoding="ascii", newline="") as file:
                for row in csv.DictReader(file):
                    device = device_name(int(row["device"]))
                    figures = {f"{device}/{key}": int(row[key]) for key in _CURVES if row[key]}
                    yield self.first_step + int(row["step"]), int(row["end_time_us"]), figures

    def ledger(self) -> List[Tuple[str, str, Optional[int]]]:
        """(device, holder, bytes) when the card was fullest; empty where the card was not read, as on the CPU."""
        rows = []
        for device in self.report["devices"]:
            for row in (device["ledger_fullest"] or device["ledger"] or {"rows": ()})["rows"]:
                rows.append((device_name(device["device"]), str(row["name"]), row["bytes"]))
        return rows

    def page(self, output: Optional[_PathLike] = None) -> str:
        """Writes the HTML page, by default beside the recording, and returns its path."""
        return reports.page(self.path, output=output or f"{self.path}.html")

    def save(self, folder: Path) -> None:
        """report.json, report.txt and report.html."""
        write_json_whole(folder / "report.json", self.report)
        write_text_whole(folder / "report.txt", self.text())
        self.page(folder / "report.html")

    def text(self, format: str = "txt") -> str:
        return reports.analyze_text(self.path, format=format)

    def __repr__(self) -> str:
        return f"<stormlog: {self.headline}; {self._peaks_text()}; {self.path}>"

    def _peaks_text(self) -> str:
        return ", ".join(f"peak {human(size)} on {name}" for name, size in self.peaks.items())

    def _repr_html_(self) -> str:
        cells = [f"<p><b>{html.escape(self.headline)}</b><br>{html.escape(self._peaks_text())}</p>"]
        for device in self.report["devices"]:
            rows = "".join(f"<tr><td style='text-align:right'>{human(row['bytes'])}</td><td style='text-align:right'>{row['blocks']}</td>"
                           f"<td style='text-align:left'>{html.escape(line_of(row['site']))}</td></tr>" for row in device["top_peak"])
            cells.append(f"<table><caption>{device_name(device['device'])}, at the peak</caption>"
                         f"<tr><th>bytes</th><th>blocks</th><th style='text-align:left'>line</th></tr>{rows}</table>")
        return "".join(cells)


class Page:
    """The HTML page in a notebook's cell."""

    def __init__(self, path: _PathLike, height: int = 700) -> None:
        self.path = os.fspath(path)
        self.height = height

    def __repr__(self) -> str:
        return f"<stormlog page {self.path}>"

    def _repr_html_(self) -> str:
        with open(self.path, encoding="utf-8") as file:
            text = html.escape(file.read(), quote=True)
        return f'<iframe srcdoc="{text}" style="width:100%;height:{self.height}px;border:1px solid #ccc"></iframe>'
