# SPDX-License-Identifier: MIT
"""W&B: ``StormlogCallback(sinks=[wandb.sink(run)])``, or ``wandb.log_run(run, "stormlog-runs/latest")``; works offline."""

from __future__ import annotations

import functools
import os
import tempfile
from typing import Any, Dict, Union

import wandb

from ._evidence import Evidence
from ._sink import Sink, logger_sink


def log_run(run: Any, recording: Union[Evidence, str, "os.PathLike[str]"], prefix: str = "memory") -> None:
    """Curves over ``<prefix>/step``, the ledger as a table, verdict and peaks in the summary, the page as an artifact."""
    evidence = recording if isinstance(recording, Evidence) else Evidence(recording)
    axis = f"{prefix}/step"
    run.define_metric(axis)
    run.define_metric(f"{prefix}/*", step_metric=axis)
    by_step: Dict[int, Dict[str, float]] = {}
    for step, _, figures in evidence.curves():
        by_step.setdefault(step, {axis: step}).update({f"{prefix}/{name}": value for name, value in figures.items()})
    for figures_of_step in by_step.values():
        run.log(figures_of_step)
    ledger = evidence.ledger()
    if ledger:
        run.log({f"{prefix}/ledger": wandb.Table(columns=["device", "holder", "bytes"], data=[list(row) for row in ledger])})
    run.summary.update({f"{prefix}/verdict": evidence.verdict, f"{prefix}/headline": evidence.headline,
                        **{f"{prefix}/peak_bytes_{device}": size for device, size in evidence.peaks.items()}})
    with tempfile.TemporaryDirectory(prefix="stormlog-") as folder:
        artifact = wandb.Artifact(f"stormlog-{run.id}", type="memory-report")
        artifact.add_file(evidence.page(os.path.join(folder, "stormlog-report.html")))
        run.log_artifact(artifact)


def sink(run: Any, prefix: str = "memory") -> Sink:
    """For the argument ``sinks`` of the callbacks. With several ranks the first one writes."""
    return logger_sink(functools.partial(log_run, run, prefix=prefix))
