# SPDX-License-Identifier: MIT
"""Files of every readable kind (recordings, torch snapshots, telemetry, out-of-memory bundles): reports, comparisons,
other formats. The same code as the commands, without starting one."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Optional, Sequence, Union

from . import _read

_PathLike = Union[str, "os.PathLike[str]"]
_LATEST = os.path.join("stormlog-runs", "latest")


def analyze(*paths: _PathLike, device: Optional[int] = None, top: int = 10,
            filter: Optional[str] = None, whatif: bool = True) -> Dict[str, Any]:
    """The report of ``stormlog analyze --format json`` as a dict: verdict, devices, findings, oom. A path may be a run folder;
    without any it is the latest run. ``filter`` is a regular expression on ``file:line function``. ``whatif=False`` does
    not replay the allocator: there is no advice about its settings."""
    return json.loads(_read.report(paths or (_LATEST,), "json", device=device, top=top, filter=filter, whatif=whatif))


def analyze_text(*paths: _PathLike, format: str = "txt", device: Optional[int] = None, top: int = 10) -> str:
    """The same as text: ``txt``, ``md`` or ``junit``."""
    return _read.report(paths or (_LATEST,), format, device=device, top=top)


def diff(before: _PathLike, after: _PathLike, *, device: Optional[int] = None, top: int = 15) -> Dict[str, Any]:
    """What grew and shrank from one file's end to the other's, by line of code; the JSON of ``stormlog diff``."""
    return json.loads(_read.diff(before, after, device=device, top=top))


def whatif(*paths: _PathLike, settings: Sequence[str] = (), card: Union[int, str, None] = None,
           free: Optional[str] = None, without: Optional[str] = None, early: bool = False,
           no_record_stream: bool = False, one_stream: bool = False, quick: bool = False,
           placements: int = 0, device: Optional[int] = None) -> Dict[str, Any]:
    """Which allocator setting would have helped; the JSON of ``stormlog whatif``. ``settings`` are tried instead of the usual
    ones, in the syntax of ``PYTORCH_CUDA_ALLOC_CONF``; ``card`` is what PyTorch could reserve, in bytes or as ``"24GiB"``. A
    trace that cannot be replayed has a ``refusal`` and no ``rows``."""
    return json.loads(_read.whatif(paths or (_LATEST,), "json", settings=settings, card=card, free=free, without=without,
                                   early=early, no_record_stream=no_record_stream, one_stream=one_stream, quick=quick,
                                   placements=placements, device=device))


def export(path: _PathLike, kind: str, output: _PathLike, *, device: Optional[int] = None) -> None:
    """Writes a file in another format: ``snapshot``, ``folded``, ``events-json``, ``telemetry-json``, ..."""
    _read.export(path, kind, output, device=device)
