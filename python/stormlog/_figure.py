# SPDX-License-Identifier: MIT
"""A figure: a chart drawn in C, shown, saved, or put into a notebook."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from pathlib import Path
from typing import Any, Optional

from . import _read

_SUFFIXES = (".svg", ".png", ".html", ".htm")


class Figure:
    """What the plot methods return. ``panel``, ``series``, ``label`` and ``note`` are passed to the chart."""

    def __init__(self, title: str, width: int = 1200, height: int = 800, columns: int = 1) -> None:
        self.chart = _read.Chart(title, width, height, columns)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["chart"], name)

    def save(self, path: Any) -> str:
        """``.svg``, ``.png``, or ``.html`` for a self-contained page. ValueError for another suffix, because the content would
        not match the file's name. RuntimeError for ``.png`` in a build without cairo."""
        target = Path(path)
        if target.suffix.lower() in _SUFFIXES:
            target.parent.mkdir(parents=True, exist_ok=True)
        self.chart.write(os.fspath(target))
        return os.fspath(target)

    def show(self) -> Optional[str]:
        """Opens the page in a browser; returns the file."""
        handle, path = tempfile.mkstemp(prefix="stormlog-", suffix=".html")
        os.close(handle)
        self.save(path)
        webbrowser.open(Path(path).as_uri())
        return path

    def _repr_svg_(self) -> str:
        return self.chart.svg()


def finish(figure: Figure, save_path: Any) -> Figure:
    if save_path is not None:
        figure.save(save_path)
    return figure
