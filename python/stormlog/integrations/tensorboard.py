# SPDX-License-Identifier: MIT
"""TensorBoard: ``StormlogCallback(sinks=[tensorboard.sink(writer)])``, or ``tensorboard.log_run(writer, "stormlog-runs/latest")``.

TensorBoard keeps no files of other kinds: the page is written into the writer's folder, and the text names it."""

from __future__ import annotations

import functools
import os
from typing import Any, Union

from ._evidence import Evidence, human
from ._sink import Sink, logger_sink


def log_run(writer: Any, run: Union[Evidence, str, "os.PathLike[str]"], prefix: str = "memory") -> None:
    """Curves by step, the ledger, the report and the page. ``writer`` is a SummaryWriter of torch.utils.tensorboard or tensorboardX."""
    evidence = run if isinstance(run, Evidence) else Evidence(run)
    for step, time_us, figures in evidence.curves():
        for name, value in figures.items():
            writer.add_scalar(f"{prefix}/{name}", value, step, walltime=time_us / 1e6)
    rows = [f"| {device} | {name} | {human(size)} |" for device, name, size in evidence.ledger()]
    if rows:
        writer.add_text(f"{prefix}/ledger", "\n".join(["| device | holder | size |", "| --- | --- | --- |", *rows]))
    folder = writer.log_dir if hasattr(writer, "log_dir") else writer.logdir  # torch's writer, or tensorboardX's
    page = evidence.page(os.path.join(folder, "stormlog-report.html"))
    writer.add_text(f"{prefix}/report", f"{evidence.text('md')}\n\nPage: `{page}`\n")
    writer.flush()


def sink(writer: Any, prefix: str = "memory") -> Sink:
    """For the argument ``sinks`` of the callbacks. With several ranks the first one writes."""
    return logger_sink(functools.partial(log_run, writer, prefix=prefix))
