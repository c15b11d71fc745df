# SPDX-License-Identifier: MIT
"""One training whose recording goes to TensorBoard, MLflow and W&B (offline); each is read back with its own reader."""

import importlib
import os
import time

os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true", WANDB_DATA_DIR=os.getcwd(), WANDB_CACHE_DIR=os.getcwd(),
                  MLFLOW_TRACKING_URI="sqlite:///mlflow.db")

from common_frameworks import STEPS, facts_of, report  # noqa: E402
from train_torch import train  # noqa: E402

TAG = "memory/host/live_requested_bytes"


def with_tensorboard(evidence, package):
    """With the writer of torch.utils.tensorboard, or of tensorboardX."""
    from stormlog.integrations import tensorboard
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with importlib.import_module(package).SummaryWriter(package) as writer:
        tensorboard.log_run(writer, evidence)
    read = EventAccumulator(package, size_guidance={"tensors": 0, "scalars": 0})
    read.Reload()
    return {"curve": [int(event.value) for event in read.Scalars(TAG)], "page": os.path.exists(f"{package}/stormlog-report.html"),
            "text": "memory/report/text_summary" in read.Tags()["tensors"]}


def with_mlflow(evidence):
    import mlflow as client
    from stormlog.integrations import mlflow

    client.set_experiment("frameworks")
    with client.start_run() as run:
        mlflow.log_run(evidence)
    found = client.MlflowClient()
    history = sorted(found.get_metric_history(run.info.run_id, TAG), key=lambda metric: metric.step)
    names = {artifact.path for artifact in found.list_artifacts(run.info.run_id, "stormlog")}
    return {"curve": [int(metric.value) for metric in history], "page": "stormlog/stormlog-report.html" in names,
            "verdict": found.get_run(run.info.run_id).data.tags["stormlog.verdict"]}


def wandb_records(path):
    """The records of an offline run. W&B has no reader for Python; the file is LevelDB's log: blocks of 32 KiB with a check sum, a length
    and a kind before each piece of a record."""
    with open(path, "rb") as file:
        data = file.read()
    at, record = 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        length, kind = int.from_bytes(data[at + 4:at + 6], "little"), data[at + 6]
        record += data[at + 7:at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last piece
            yield record
            record = b""


def with_wandb(evidence):
    import wandb as client
    from stormlog.integrations import wandb
    from wandb.proto import wandb_internal_pb2

    with client.init(project="frameworks", dir=".", mode="offline") as run:
        wandb.log_run(run, evidence)
        verdict = run.summary["memory/verdict"]
        folder = run.settings.sync_dir
    path = next(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".wandb"))
    records, until = [], time.monotonic() + 120
    while not any(record.HasField("exit") for record in records) and time.monotonic() < until:  # another process writes the file
        time.sleep(0.1)
        records = [wandb_internal_pb2.Record.FromString(data) for data in wandb_records(path)]
    items = [{"/".join(item.nested_key) or item.key: item.value_json for item in record.history.item} for record in records]
    files = [content.path for record in records for content in record.artifact.manifest.contents]
    return {"curve": [int(row[TAG]) for row in items if TAG in row], "page": files == ["stormlog-report.html"], "verdict": verdict}


def main():
    import stormlog
    from stormlog.integrations._evidence import Evidence

    with stormlog.record() as recording:
        kept = train(stormlog.step)
        path = recording.path
    evidence = Evidence(path)
    truth = [figures[TAG[len("memory/"):]] for _, _, figures in evidence.curves()]
    report(**facts_of(evidence), truth=truth, tensorboard=with_tensorboard(evidence, "torch.utils.tensorboard"),
           tensorboardX=with_tensorboard(evidence, "tensorboardX"), mlflow=with_mlflow(evidence), wandb=with_wandb(evidence), wanted=STEPS)
    return kept


if __name__ == "__main__":
    kept_to_the_end = main()
