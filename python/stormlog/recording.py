# SPDX-License-Identifier: MIT
"""Starts and stops the recorder: every allocation of this process with its Python stack, in a file that survives kill -9.

    with stormlog.record(): train()                       # a block
    recording = stormlog.record(); ...; recording.stop()  # a call
    stormlog.record(steps=(10, 15), snapshot="s.pickle")  # from step 10 to step 15, as stormlog.step(n) counts them

Under `stormlog run` the recorder is already in the process; all functions here then act on that recording.
"""

from __future__ import annotations

import atexit
import html
import logging
import os
import pickle
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from . import _record
from ._files import find_library, write_bytes_whole
from ._identity import resolve_distributed_identity
from .oom_flight_recorder import classify_oom_exception

logger = logging.getLogger(__name__)

_PathLike = Union[str, "os.PathLike[str]"]

_RUNS = "stormlog-runs"
_EVENT_BYTES = 32  # of one event in the recording's ring
_SETTINGS = _record.settings()
_STACKS = _SETTINGS["stacks"]["words"]
_CPU = {choice: _SETTINGS["cpu"]["words"][word] for choice, word in ((None, "auto"), (True, "1"), (False, "0"))}

# The recording that this module started, and the number that step() gives next.
_active: Dict[str, "Recording"] = {}
_counter = {"step": 0}


def _load() -> None:
    """Loads the recorder's library into this process."""
    if _record.is_loaded():
        _record.load("")  # the copy that is already loaded
        return
    library = find_library()
    if library is None:
        raise RuntimeError("libstormlog_record.so was found neither beside the package nor in its build or install "
                           "folder; build it with `make`, or install the package")
    _record.load(str(library))


def _is_on() -> bool:
    if not _record.is_loaded():
        return False
    _load()
    return _record.is_on()


def _is_disabled() -> bool:
    return os.environ.get(_SETTINGS["is_disabled"]["env"], "0") not in ("", "0")


def _open_folder(wanted: Optional[_PathLike]) -> Tuple[Any, Optional[str]]:
    """The run folder and its path, as `stormlog run` makes it; ranks of one launcher share one. If the folder cannot be made,
    the recorder reports it when it tries to write there."""
    if wanted is None and os.environ.get(_SETTINGS["dir"]["env"]):
        return None, None
    try:
        return _record.run_folder_open(wanted, sys.argv[0] if sys.argv else "")
    except OSError:
        return None, os.fspath(wanted or _RUNS)


def _ranked(path: _PathLike, add_rank: bool = True) -> Path:
    """``{rank}`` in the name is replaced; else, with several ranks, ``_rank<R>`` is put before the suffix."""
    identity = resolve_distributed_identity()
    text = os.fspath(path)
    if "{rank}" in text:
        return Path(text.replace("{rank}", str(identity["rank"])))
    result = Path(text)
    if add_rank and identity["world_size"] > 1:
        result = result.with_name(f"{result.stem}_rank{identity['rank']}{result.suffix}")
    return result


class Recording:
    """What record() returns; a context manager."""

    def __init__(self, *, options: Dict[str, Any], steps: Optional[Tuple[int, int]], snapshot: Optional[_PathLike],
                 oom_snapshot: Optional[_PathLike]) -> None:
        self._options = options
        self._steps = steps
        self._snapshot = snapshot
        self._oom_snapshot = oom_snapshot
        self._is_owner = False
        self._is_done = False
        self._folder: Any = None
        self._pid = os.getpid()
        self.snapshot_path: Optional[str] = None
        self.oom_snapshot_path: Optional[str] = None

    @property
    def path(self) -> Optional[str]:
        """The recording's file; None before the first memory event."""
        return (_record.path() if _is_on() else "") or getattr(self, "_last_path", None)

    @property
    def is_on(self) -> bool:
        return not self._is_done and _is_on()

    @property
    def is_owner(self) -> bool:
        """False under `stormlog run`, or where another record() was first: stop() then ends nothing."""
        return self._is_owner

    def __repr__(self) -> str:
        return f"<stormlog.Recording {self._state()}>"

    def _repr_html_(self) -> str:
        """The report of what is recorded so far, for a notebook."""
        try:
            from .reports import analyze_text

            text = analyze_text(self.path) if self.path else repr(self)
        except Exception:  # a notebook cell must never fail because of its output
            text = repr(self)
        return f"<pre>{html.escape(text)}</pre>"

    def _state(self) -> str:
        path = self.path
        if path:
            return f"{'on' if self.is_on else 'stopped'}, {path}"
        if _is_disabled():
            return "disabled by STORMLOG_DISABLE"
        if self.is_on:
            return "on, no memory event yet"
        return "stopped, nothing recorded" if self._is_done else "not started"

    def start(self) -> "Recording":
        """Starts now; with a schedule, step() calls it."""
        _load()
        if _is_disabled():
            logger.warning("recording is disabled: STORMLOG_DISABLE is set")
            return self
        if not _record.is_on():
            self._folder, place = _open_folder(self._options["dir"])
            self._options["dir"] = place
        result = _record.start(**self._options)
        if result == -2:
            found = ", ".join(f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("STORMLOG_"))
            raise ValueError("the recorder refuses " + (f"one of these variables: {found}; or " if found else "") +
                             f"one of these options: {self._options}")
        self._is_owner = result == 0
        atexit.register(self._write_evidence)  # for programs that exit without calling stop()
        _observe_oom()
        return self

    def stop(self) -> None:
        """Ends the recording that this object started and writes the requested snapshot. A second call does nothing."""
        if self._is_done:
            return
        self._is_done = True
        if _active.get("recording") is self:
            del _active["recording"]
        if not _is_on():
            return
        self._last_path = _record.path() or None
        atexit.unregister(self._write_evidence)
        self._write_evidence()
        if self._snapshot is not None:
            self._write_snapshot(self._snapshot)
        if self._is_owner:
            _record.stop()

    def _write_snapshot(self, path: _PathLike) -> None:
        try:
            self.snapshot_path = snapshot(path)
        except Exception as error:
            logger.warning("the snapshot failed: %s", error)

    def __enter__(self) -> "Recording":
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        if error is not None and classify_oom_exception(error).is_oom:
            self._dump_oom()
        self.stop()

    @property
    def oom_bundles(self) -> List[str]:
        """The folders of evidence of failed requests, oldest first."""
        return _bundles_of(self.path) if self.path else []

    def _write_evidence(self) -> None:
        """Writes what is due at the end: bundles, and the snapshot of a failure that torch did not report (on the CPU, or when
        torch was imported after the recording began). Removes an empty folder, unless this is a forked process: its parent may still
        need it."""
        if not _is_on():
            return
        if _record.oom_count() > 0:
            self._dump_oom()
        if self._folder is not None and self._pid == os.getpid() and not _record.path():
            _record.run_folder_discard(self._folder)

    def _write_bundles(self) -> None:
        """Writes the evidence of failed requests next to the recording, even if the program caught the error. `stormlog run`
        does this for its own recordings."""
        path = _record.path()
        if not self._is_owner or not path or _record.oom_count() == 0:
            return
        try:
            from . import _read

            _read.export(path, "oom-bundle", os.path.dirname(path) or ".")
        except Exception as failure:
            logger.warning("out of memory, but no bundle was written: %s", str(failure) or type(failure).__name__)

    def _dump_oom(self) -> None:
        self._write_bundles()
        if self._oom_snapshot is None or self.oom_snapshot_path is not None:
            return
        try:
            self.oom_snapshot_path = snapshot(self._oom_snapshot)
            logger.error("out of memory; the snapshot is %s", self.oom_snapshot_path)
        except Exception as failure:
            logger.warning("the snapshot at the out-of-memory failed: %s", str(failure) or type(failure).__name__)

    def _on_step(self, number: int) -> None:
        if self._steps is None or self._is_done:
            return
        if number >= self._steps[1]:
            self.stop()
        elif number >= self._steps[0] and not self._is_owner:
            self.start()


def _bundles_of(path: str) -> List[str]:
    found = re.compile(re.escape(os.path.basename(path)) + r"\.oom-(\d+)")
    folder = os.path.dirname(path) or "."
    names = [match for match in map(found.fullmatch, os.listdir(folder)) if match]
    return [os.path.join(folder, match[0]) for match in sorted(names, key=lambda match: int(match[1]))]


def _check(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ValueError(f"{name} must be {least} to {most}, found {value}")


def record(max_entries: Optional[int] = None, stacks: str = "python", *, dir: Optional[_PathLike] = None,
           steps: Optional[Tuple[int, int]] = None, snapshot: Optional[_PathLike] = None,
           oom_snapshot: Optional[_PathLike] = "oom_snapshot.pickle", cpu: Optional[bool] = None,
           interval_ms: int = 100, modules: bool = False, replay: bool = False) -> Recording:
    """Begins to record this process.

    ``max_entries``: raw events that are kept (the newest; totals by line are kept for the whole run). ``stacks``:
    ``python``, ``native`` (those of C and C++, too) or ``none``. ``dir``: the folder of the
    file, else STORMLOG_DIR, else a new one in STORMLOG_RUNS or ``stormlog-runs``, which ``latest`` then points to. ``steps``: begin at
    the first and stop at the second step. ``snapshot``: a file in PyTorch's format to write at the end. ``oom_snapshot``:
    the same when memory runs out; None for none. ``cpu``: record PyTorch's CPU allocator, too; None: where there is no
    GPU. ``modules``: put the path of the running module into the stacks. ``replay``: record what ``stormlog whatif`` needs to
    be exact.
    """
    if stacks not in _STACKS:
        raise ValueError(f"stacks must be one of {', '.join(_STACKS)}, found {stacks!r}")
    if max_entries is not None:
        _check("max_entries", max_entries, 1, _SETTINGS["ring_bytes"]["most"] // _EVENT_BYTES)
    if interval_ms:
        _check("interval_ms", interval_ms, _SETTINGS["interval_ms"]["least"], _SETTINGS["interval_ms"]["most"])
    if steps is not None and not 0 <= steps[0] < steps[1]:
        raise ValueError(f"steps must be (first, after the last), found {steps}")
    options = {"dir": dir, "cpu": _CPU[cpu], "stacks": _STACKS[stacks], "interval_ms": interval_ms,
               "ring_bytes": (max_entries or 0) * _EVENT_BYTES, "has_modules": int(modules), "has_replay": int(replay)}
    if not _is_on():
        _counter["step"] = 0
    recording = Recording(options=options, steps=steps, snapshot=snapshot, oom_snapshot=oom_snapshot)
    _active["recording"] = recording
    return recording if steps is not None else recording.start()


def step(number: Optional[int] = None) -> None:
    """A step of the program ended. Without a number steps are counted from 0. It is the number that every command shows and takes
    (``--at step:N``), as long as numbers ascend. Costs nothing when nothing is recorded."""
    number = _counter["step"] if number is None else int(number)
    _counter["step"] = number + 1
    recording = _active.get("recording")
    if recording is not None:
        recording._on_step(number)
        _observe_oom()
    if _is_on():
        _record.step(number)


def own_steps() -> None:
    """From now on only step() ends steps; else the recorder also counts an optimizer's, until the first call of step()."""
    if _is_on():
        _record.own_steps()


def mark(name: str) -> None:
    """A named point in time."""
    if _is_on():
        _record.mark(name)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """A named range; also a decorator."""
    if _is_on():
        _record.mark_begin(name)
    try:
        yield
    finally:
        if _is_on():
            _record.mark_end(name)


def health() -> Dict[str, Any]:
    """Whether this process is recorded, into which file, and what the recording could not keep."""
    is_on = _is_on()
    path = _record.path() if is_on else ""
    found: Dict[str, Any] = {"is_on": is_on, "path": path or None}
    if path:
        from . import _read

        found.update(_read.log_health(path))
    return found


# --- snapshots ---------------------------------------------------------------------------------------------------


def snapshot(path: _PathLike, *, add_rank: bool = True) -> str:
    """Writes PyTorch's snapshot format and returns the path: from our own recording when there is one (torch's history
    need not be on), else what torch.cuda.memory knows. With several ranks the rank becomes part of the name.
    RuntimeError when there is neither."""
    target = _ranked(path, add_rank)
    target.parent.mkdir(parents=True, exist_ok=True)
    recorded = _record.path() if _is_on() else ""
    if recorded:
        from . import _read

        _read.export(recorded, "snapshot", str(target))
        return str(target)
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        if _is_disabled():
            raise RuntimeError("no snapshot: recording is disabled (STORMLOG_DISABLE is set)")
        raise RuntimeError("there is nothing to take a snapshot of: no recording (stormlog.record()) and no CUDA")
    write_bytes_whole(target, lambda file: pickle.dump(torch.cuda.memory._snapshot(), file))
    return str(target)


def _observe_oom() -> None:
    """Asks torch, once it is imported, to report failed requests before they become exceptions. torch cannot unregister the
    function, hence one for all recordings."""
    torch = sys.modules.get("torch")
    if torch is None or _counter.get("observes"):
        return
    _counter["observes"] = 1
    attach = getattr(getattr(torch, "_C", None), "_cuda_attach_out_of_memory_observer", None)
    if attach is None or not torch.cuda.is_available():
        return

    def on_oom(device: int, requested: int, total: int, free: int) -> None:
        recording = _active.get("recording")
        if recording is not None:
            recording._dump_oom()

    attach(on_oom)
