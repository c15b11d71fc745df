# SPDX-License-Identifier: MIT
"""Sinks, to which a session gives its evidence, and the rank that decides who writes and prints."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable

from .._identity import resolve_distributed_identity
from ._evidence import Evidence

Sink = Callable[[Evidence], Any]


def current_rank() -> int:
    """Also of a process that the framework spawned itself: torch.distributed knows it, the environment does not."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    return int(resolve_distributed_identity()["rank"])


def _log_on_first_rank(log: Sink, evidence: Evidence) -> None:
    if evidence.rank == 0:
        log(evidence)


def logger_sink(log: Sink) -> Sink:
    """The ranks of a job share a logger's run, so only the first one writes. Can be pickled if what ``log`` holds can."""
    return functools.partial(_log_on_first_rank, log)
