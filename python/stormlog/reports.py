# SPDX-License-Identifier: MIT
"""Files of every readable kind (recordings, torch snapshots, telemetry, out-of-memory bundles): reports, comparisons,
other formats. The same code as the commands, without starting one."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Dict, Optional, Sequence, Tuple, Union

from . import _read
from ._files import find_program

_PathLike = Union[str, "os.PathLike[str]"]
_LATEST = os.path.join("stormlog-runs", "latest")


def _object(text: str) -> Dict[str, Any]:
    found: Dict[str, Any] = json.loads(text)
    return found


def analyze(*paths: _PathLike, device: Optional[int] = None, top: int = 10,
            filter: Optional[str] = None, whatif: bool = True) -> Dict[str, Any]:
    """The report of ``stormlog analyze --format json`` as a dict: verdict, devices, findings, oom. A path may be a run folder;
    without any it is the latest run. ``filter`` is a regular expression on ``file:line function``. ``whatif=False`` does
    not replay the allocator: there is no advice about its settings."""
    return _object(_read.report(paths or (_LATEST,), "json", device=device, top=top, filter=filter, whatif=whatif))


def analyze_text(*paths: _PathLike, format: str = "txt", device: Optional[int] = None, top: int = 10) -> str:
    """The same as text: ``txt``, ``md`` or ``junit``."""
    return _read.report(paths or (_LATEST,), format, device=device, top=top)


def _ask(*words: str, good: Sequence[int] = ()) -> str:
    """What the program prints. An exit code that is not ``good`` (with an answer) becomes an exception with the program's message."""
    program = find_program()
    if program is None:
        raise RuntimeError("the program stormlog was found neither beside the package nor on PATH; "
                           "build it with `make`, or install the package")
    done = subprocess.run([str(program), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", errors="replace")
    if done.returncode == 0 or (done.returncode in good and done.stdout):
        return done.stdout
    kinds = {2: _read.UsageError, 3: _read.FormatError, 4: _read.DeviceError}
    error = kinds.get(done.returncode, _read.InternalError)(done.stderr.strip() or f"stormlog exited with {done.returncode}")
    error.code, error.name, error.position = done.returncode, "exit code", None
    raise error


def page(*paths: _PathLike, output: _PathLike = "stormlog-report.html", title: Optional[str] = None) -> str:
    """Writes the HTML page of ``stormlog report`` and returns its path."""
    _ask("report", "-o", os.fspath(output), *(("--title", title) if title else ()), "--",
         *(os.fspath(path) for path in paths or (_LATEST,)))
    return os.fspath(output)


def check(path: _PathLike = _LATEST, *, baseline: Optional[_PathLike] = None, max_peak: Union[int, str, None] = None,
          max_live: Union[int, str, None] = None, max_reserved: Union[int, str, None] = None, max_slope: Union[int, str, None] = None,
          fits: Union[int, str, None] = None, no_leak: bool = False, no_oom: bool = False, device: Optional[int] = None) -> Dict[str, Any]:
    """The JSON of ``stormlog check``: ``passed`` and ``gates``. Limits are bytes or texts such as ``"20GiB"``; ``"5%"`` and ``"+200MiB"``
    are relative to the baseline."""
    given = {"baseline": baseline, "max-peak": max_peak, "max-live": max_live, "max-reserved": max_reserved, "max-slope": max_slope,
             "fits": fits, "device": device}
    words = [word for name, value in given.items() if value is not None for word in (f"--{name}", str(value))]
    words += [f"--{name}" for name, value in (("no-leak", no_leak), ("no-oom", no_oom)) if value]
    return _object(_ask("check", "--format", "json", *words, "--", os.fspath(path), good=(1, 3)))


def diff(before: _PathLike, after: _PathLike, *, device: Optional[int] = None, top: int = 15,
         at: Optional[Tuple[str, str]] = None) -> Dict[str, Any]:
    """What grew and shrank from one file's end to the other's, by line of code; the JSON of ``stormlog diff``. ``at``: other moments than
    the ends, such as ``("step:1", "peak")``."""
    if at is not None:
        words = [word for name, value in (("at-a", at[0]), ("at-b", at[1]), ("device", device), ("top", top)) if value is not None
                 for word in (f"--{name}", str(value))]
        return _object(_ask("diff", "--format", "json", *words, "--", os.fspath(before), os.fspath(after)))
    return _object(_read.diff(before, after, device=device, top=top))


def whatif(*paths: _PathLike, settings: Sequence[str] = (), card: Union[int, str, None] = None,
           free: Optional[str] = None, without: Optional[str] = None, early: bool = False,
           no_record_stream: bool = False, one_stream: bool = False, quick: bool = False,
           placements: int = 0, device: Optional[int] = None) -> Dict[str, Any]:
    """Which allocator setting would have helped; the JSON of ``stormlog whatif``. ``settings`` are tried instead of the usual
    ones, in the syntax of ``PYTORCH_CUDA_ALLOC_CONF``; ``card`` is what PyTorch could reserve, in bytes or as ``"24GiB"``. A
    trace that cannot be replayed has a ``refusal`` and no ``rows``."""
    return _object(_read.whatif(paths or (_LATEST,), "json", settings=settings, card=card, free=free, without=without,
                                   early=early, no_record_stream=no_record_stream, one_stream=one_stream, quick=quick,
                                   placements=placements, device=device))


def export(path: _PathLike, kind: str, output: _PathLike, *, device: Optional[int] = None) -> None:
    """Writes a file in another format: ``snapshot``, ``folded``, ``events-json``, ``telemetry-json``, ..."""
    _read.export(path, kind, output, device=device)
