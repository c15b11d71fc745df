# SPDX-License-Identifier: MIT
"""One training inside a framework: begins to record, counts steps, names phases, ends with a verdict or with evidence."""

from __future__ import annotations

import atexit
import logging
import os
import sys
from pathlib import Path
from typing import Any, Callable, ContextManager, Dict, List, Optional, Sequence, Set, Union

from .._files import private_folder_mode
from ..recording import Recording, mark, own_steps, phase, record, snapshot, step
from ._evidence import Evidence
from ._sink import Sink, current_rank

logger = logging.getLogger(__name__)

_PathLike = Union[str, "os.PathLike[str]"]

_running: List["Session"] = []  # in this process; the newest counts the steps


class Session:
    """``dir``, ``modules``, ``replay`` and ``cpu`` are those of stormlog.record(); under ``stormlog run`` its recording is used and
    they change nothing. ``sinks`` are called with the evidence when the training ends, well or not, on every rank. ``page``: write the
    page beside the recording. Nothing here raises into the training: a failure is a line in the log. A session that was started belongs to
    its process: in a forked one, or a copy by pickle, it is not running."""

    def __init__(self, *, dir: Optional[_PathLike] = None, modules: bool = True, replay: bool = False, cpu: Optional[bool] = None,
                 page: bool = False, sinks: Sequence[Sink] = ()) -> None:
        self._options: Dict[str, Any] = {"dir": dir, "modules": modules, "replay": replay, "cpu": cpu}
        self._page = page
        self._sinks = list(sinks)
        self._open: Dict[str, ContextManager[None]] = {}
        self._failed: Set[str] = set()
        self._recording: Optional[Recording] = None
        self._path: Optional[str] = None
        self._pid = self._rank = self._first_step = 0
        self.evidence: Optional[Evidence] = None
        self.failure_path: Optional[str] = None

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_recording": None, "_path": None, "_open": {}}

    @property
    def is_running(self) -> bool:
        return self._recording is not None and self._pid == os.getpid()

    def start(self) -> None:
        if not self.is_running:
            self.attempt("recording", self._start)

    def _start(self) -> None:
        self.evidence = self.failure_path = None
        self._open, self._failed, self._path, self._first_step, self._rank = {}, set(), None, 0, 0
        recording = record(**self._options)
        if recording.is_owner:
            own_steps()
        self._recording, self._pid = recording, os.getpid()
        _running[:] = [session for session in _running if session.is_running] + [self]
        atexit.register(self.fail, None)
        self._note_rank()

    def _note_rank(self) -> None:
        """At both ends: a tracker may begin before torch.distributed does, and a program may exit after it."""
        self._rank = max(self._rank, self.attempt("the rank", current_rank) or 0)

    def resume_at(self, number: int) -> None:
        """So many steps were done before: the curves begin there. Not under `stormlog run`, whose recording may have other trainings."""
        if self._recording is not None and self._recording.is_owner:
            self._first_step = number

    def step(self, number: Optional[int] = None) -> None:
        if self.is_running and _running[-1:] == [self]:
            self.attempt("a step", step, number)

    def begin(self, name: str) -> None:
        if self.is_running and name not in self._open:
            self._open[name] = phase(name)
            self.attempt("a phase", self._open[name].__enter__)

    def end(self, name: str) -> None:
        if self.is_running and name in self._open:
            self.attempt("a phase", self._open.pop(name).__exit__, None, None, None)

    def mark(self, name: str) -> None:
        if self.is_running:
            self.attempt("a mark", mark, name)

    def finish(self) -> Optional[Evidence]:
        """The training ended: the verdict is printed, the sinks are called. None when nothing was recorded."""
        return self._close(None, False)

    def fail(self, error: Optional[BaseException]) -> Optional[Evidence]:
        """The training raised, or the program exits inside it: also writes a folder with the evidence."""
        return self._close(error, True)

    def _close(self, error: Optional[BaseException], is_failure: bool) -> Optional[Evidence]:
        recording = self._recording
        if recording is None or not self.is_running:
            return self.evidence
        for name in list(self._open):
            self.end(name)
        self._recording = None
        _running.remove(self)
        atexit.unregister(self.fail)
        if error is not None:
            self.attempt("a mark", lambda: mark(f"failed: {type(error).__name__}: {str(error)[:200]}"))
        path = recording.path or self._path
        for session in _running:
            session._path = path  # the recording may end here, before they do
        if path and is_failure:
            self.attempt("the evidence", self._write_failure, path)
        self.attempt("the end of the recording", recording.__exit__, type(error), error, None)
        if path:
            self._note_rank()
            self.evidence = evidence = Evidence(path, first_step=self._first_step, rank=self._rank)
            page = self.attempt("the page", evidence.page) if self._page else None
            self.attempt("the verdict", self._tell, evidence, recording.is_owner, page)
            for number, sink in enumerate(self._sinks, 1):
                self.attempt(f"sink {number}", sink, evidence)
        return self.evidence

    def attempt(self, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls it. A failure is a line in the log, the first time: the training's own result matters more."""
        try:
            return function(*arguments)
        except Exception as problem:
            if what not in self._failed:
                logger.warning("%s failed: %s: %s", what, type(problem).__name__, problem)
            self._failed.add(what)
            return None

    def _write_failure(self, path: str) -> None:
        """A state in PyTorch's format, the report and the page, in ``<recording>.failure``."""
        folder = Path(f"{path}.failure")
        folder.mkdir(mode=private_folder_mode(), exist_ok=True)
        self.failure_path = str(folder)
        Evidence(path).save(folder)
        snapshot(folder / "snapshot.pickle", add_rank=False)

    def _tell(self, evidence: Evidence, is_owner: bool, page: Optional[str]) -> None:
        """`stormlog run` prints its own verdict, and with several ranks the first one does."""
        if is_owner and evidence.rank == 0:
            lines = [evidence.headline, f"next: stormlog analyze {evidence.path}"]
            lines += [f"{name}: {path}" for name, path in (("page", page), ("evidence", self.failure_path)) if path]
            sys.stderr.write("".join(f"stormlog: {line}\n" for line in lines))
