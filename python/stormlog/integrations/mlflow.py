# SPDX-License-Identifier: MIT
"""MLflow: ``StormlogCallback(sinks=[mlflow.sink()])`` inside a run, or ``mlflow.log_run("stormlog-runs/latest")``."""

from __future__ import annotations

import functools
import os
import tempfile
from typing import List, Optional, Union

from mlflow.entities import Metric
from mlflow.tracking import MlflowClient
from mlflow.tracking.fluent import active_run

from ._evidence import Evidence
from ._sink import Sink, logger_sink

_BATCH = 1000  # metrics of one request, MLflow's own limit


def log_run(recording: Union[Evidence, str, "os.PathLike[str]"], run_id: Optional[str] = None, prefix: str = "memory") -> None:
    """Curves and peaks as metrics, the verdict as tags, ledger (JSON) and page as artifacts of ``stormlog/``. ``run_id``: the active
    run."""
    evidence = recording if isinstance(recording, Evidence) else Evidence(recording)
    active = active_run()
    target = run_id or (active.info.run_id if active else None)
    if target is None:
        raise RuntimeError("MLflow has no active run: call this inside mlflow.start_run(), or give run_id")
    client = MlflowClient()
    metrics: List[Metric] = []
    for step, time_us, figures in evidence.curves():
        metrics += [Metric(f"{prefix}/{name}", float(value), time_us // 1000, step) for name, value in figures.items()]
    for first in range(0, len(metrics), _BATCH):
        client.log_batch(target, metrics=metrics[first:first + _BATCH])
    for device, size in evidence.peaks.items():
        if size is not None:
            client.log_metric(target, f"{prefix}/peak_bytes_{device}", float(size))
    client.set_tag(target, "stormlog.verdict", evidence.verdict)
    client.set_tag(target, "stormlog.headline", evidence.headline)
    client.log_dict(target, {"ledger": [{"device": d, "holder": n, "bytes": b} for d, n, b in evidence.ledger()]}, "stormlog/ledger.json")
    with tempfile.TemporaryDirectory(prefix="stormlog-") as folder:
        client.log_artifact(target, evidence.page(os.path.join(folder, "stormlog-report.html")), "stormlog")


def sink(run_id: Optional[str] = None, prefix: str = "memory") -> Sink:
    """For the argument ``sinks`` of the callbacks. With several ranks the first one writes."""
    return logger_sink(functools.partial(log_run, run_id=run_id, prefix=prefix))
