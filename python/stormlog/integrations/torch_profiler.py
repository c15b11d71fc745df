# SPDX-License-Identifier: MIT
"""torch.profiler: memory beside the operators, on one time axis.

    with profile(on_trace_ready=torch_profiler.trace_handler("traces")) as profiler:
        for batch in data: train(batch); stormlog.step(); profiler.step()

Or, for a trace that was exported: ``torch_profiler.annotate("trace.json", "stormlog-runs/latest")``. The trace then has a process
"stormlog" with a slice per step, counters at the end of each, and the verdict; open it in ui.perfetto.dev or chrome://tracing."""

from __future__ import annotations

import gzip
import json
import logging
import os
import socket
import time
from typing import Any, Callable, Dict, List, Optional, Union

from .. import _record
from .._files import write_bytes_whole
from ..recording import health
from ._evidence import Evidence

logger = logging.getLogger(__name__)

_PathLike = Union[str, "os.PathLike[str]"]
_PID = "stormlog"


def _events(evidence: Evidence, base_us: float, last_us: float) -> List[Dict[str, Any]]:
    """Trace events, in microseconds since the trace's own base."""
    found: List[Dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": _PID, "args": {"name": "stormlog: memory"}}]
    begin: Dict[str, float] = {}
    for step, time_us, figures in evidence.curves():
        end = time_us - base_us
        for name, value in figures.items():
            found.append({"ph": "C", "cat": "stormlog", "pid": _PID, "name": name, "ts": end, "args": {"bytes": value}})
        for device in {name.split("/")[0] for name in figures}:  # one, or none for a step without figures
            if device in begin:
                found.append({"ph": "X", "cat": "stormlog", "pid": _PID, "tid": f"steps, {device}", "name": f"stormlog step {step}",
                              "ts": begin[device], "dur": end - begin[device], "args": figures})
            begin[device] = end
    found.append({"ph": "i", "s": "g", "cat": "stormlog", "pid": _PID, "tid": "verdict", "ts": last_us,
                  "name": f"stormlog: {evidence.headline}", "args": {"recording": evidence.path, "verdict": evidence.verdict}})
    return found


def annotate(trace: _PathLike, recording: Optional[_PathLike] = None) -> str:
    """Adds steps, counters and verdict to an exported trace (.json or .json.gz), in place; returns its path. ``recording``: the one of this
    process. ValueError for a trace without Kineto's clock, to which a recording cannot be related."""
    path = os.fspath(trace)
    source = recording or health()["path"]
    if source is None:
        raise RuntimeError("nothing is recorded in this process: call stormlog.record() first, or give the recording")
    opener: Any = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        content = json.load(file)
    if not isinstance(content, dict) or "baseTimeNanoseconds" not in content:
        raise ValueError(f"'{path}': expected a trace of torch 2 with baseTimeNanoseconds, found none")
    evidence = Evidence(source)
    events = content["traceEvents"]
    last = max((event["ts"] + event.get("dur", 0) for event in events if event.get("ph") == "X"), default=0.0)
    events += _events(evidence, content["baseTimeNanoseconds"] / 1000, last)
    content["stormlog"] = {"verdict": evidence.verdict, "headline": evidence.headline, "recording": evidence.path}
    encoded = json.dumps(content).encode("utf-8")
    write_bytes_whole(path, lambda file: file.write(gzip.compress(encoded) if path.endswith(".gz") else encoded))
    return path


def trace_handler(folder: _PathLike, *, compress: bool = False, recording: Optional[_PathLike] = None) -> Callable[[Any], None]:
    """For ``on_trace_ready``: exports each trace into the folder, named as torch's own handler names it, and annotates it. A trace that
    cannot be annotated stays as torch wrote it, with a line in the log."""

    def handle(profiler: Any) -> None:
        os.makedirs(folder, exist_ok=True)
        name = f"{socket.gethostname()}_{os.getpid()}.{time.time_ns()}.pt.trace.json{'.gz' if compress else ''}"
        path = os.path.join(folder, name)
        profiler.export_chrome_trace(path)
        if recording is not None or (_record.is_loaded() and health()["path"]):
            try:
                annotate(path, recording)
            except Exception as problem:  # the training goes on
                logger.warning("'%s' was not annotated: %s", path, problem)

    return handle
