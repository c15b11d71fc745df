# SPDX-License-Identifier: MIT
"""One training inside a framework: begins to record, counts steps, names phases, ends with a verdict or with evidence."""

from __future__ import annotations

import atexit
import logging
import os
import sys
from pathlib import Path
from typing import Any, Callable, ContextManager, Dict, Optional, Sequence, Union

from .._files import private_folder_mode, write_json_whole, write_text_whole
from .._identity import resolve_distributed_identity
from ..recording import Recording, mark, own_steps, phase, record, snapshot, step
from ._evidence import Evidence

logger = logging.getLogger(__name__)

_PathLike = Union[str, "os.PathLike[str]"]
Sink = Callable[[Evidence], Any]


class Session:
    """``dir``, ``modules``, ``replay`` and ``cpu`` are those of stormlog.record(); under ``stormlog run`` its recording is used and
    they change nothing. ``sinks`` are called with the evidence when the training ends, well or not. ``page``: write the page
    beside the recording. Nothing here raises into the training: a failure is a line in the log."""

    def __init__(self, *, dir: Optional[_PathLike] = None, modules: bool = True, replay: bool = False, cpu: Optional[bool] = None,
                 page: bool = False, sinks: Sequence[Sink] = ()) -> None:
        self._options: Dict[str, Any] = {"dir": dir, "modules": modules, "replay": replay, "cpu": cpu}
        self._page = page
        self._sinks = list(sinks)
        self._open: Dict[str, ContextManager[None]] = {}
        self._recording: Optional[Recording] = None
        self.evidence: Optional[Evidence] = None
        self.failure_path: Optional[str] = None

    @property
    def is_running(self) -> bool:
        return self._recording is not None

    def start(self) -> None:
        if self._recording is None:
            self.evidence = self.failure_path = None
            self._recording = record(**self._options)
            if self._recording.is_owner:
                own_steps()
            atexit.register(self.fail, None)

    def step(self, number: Optional[int] = None) -> None:
        if self._recording is not None:
            step(number)

    def begin(self, name: str) -> None:
        if self._recording is not None and name not in self._open:
            self._open[name] = phase(name)
            self._open[name].__enter__()

    def end(self, name: str) -> None:
        if name in self._open:
            self._open.pop(name).__exit__(None, None, None)

    def mark(self, name: str) -> None:
        if self._recording is not None:
            mark(name)

    def finish(self) -> Optional[Evidence]:
        """The training ended: the verdict is printed, the sinks are called. None when nothing was recorded."""
        return self._close(None, False)

    def fail(self, error: Optional[BaseException]) -> Optional[Evidence]:
        """The training raised, or the program exits inside it: also writes a folder with the evidence."""
        return self._close(error, True)

    def _close(self, error: Optional[BaseException], is_failure: bool) -> Optional[Evidence]:
        recording, self._recording = self._recording, None
        if recording is None:
            return self.evidence
        atexit.unregister(self.fail)
        for name in list(self._open):
            self.end(name)
        if error is not None:
            mark(f"failed: {type(error).__name__}: {str(error)[:200]}")
        path = recording.path
        if path and is_failure:
            self._try("the evidence", self._write_failure, path)
        is_owner = recording.is_owner
        recording.__exit__(type(error), error, None)
        if path:
            self.evidence = Evidence(path)
            self._try("the verdict", self._tell, self.evidence, is_owner)
            for sink in self._sinks:
                self._try("a sink", sink, self.evidence)
        return self.evidence

    def _try(self, what: str, function: Callable[..., Any], *arguments: Any) -> None:
        try:
            function(*arguments)
        except Exception as problem:  # the training's own result matters more
            logger.warning("%s failed: %s", what, problem)

    def _write_failure(self, path: str) -> None:
        """A state in PyTorch's format, the report and the page, in ``<recording>.failure``."""
        folder = Path(f"{path}.failure")
        folder.mkdir(mode=private_folder_mode(), exist_ok=True)
        self.failure_path = str(folder)
        evidence = Evidence(path)
        write_json_whole(folder / "report.json", evidence.report)
        write_text_whole(folder / "report.txt", evidence.text())
        snapshot(folder / "snapshot.pickle", add_rank=False)
        evidence.page(folder / "report.html")

    def _tell(self, evidence: Evidence, is_owner: bool) -> None:
        """`stormlog run` prints its own verdict, and with several ranks the first one does."""
        if self._page:
            evidence.page()
        if is_owner and resolve_distributed_identity()["rank"] == 0:
            where = f"; evidence: {self.failure_path}" if self.failure_path else ""
            sys.stderr.write(f"stormlog: {evidence.headline}\nstormlog: stormlog analyze {evidence.path}{where}\n")
