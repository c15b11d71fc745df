# SPDX-License-Identifier: MIT
"""Callbacks as frameworks really treat them: copied into spawned ranks, used in forked DataLoader workers, resumed from a checkpoint,
pickled by Ray, with a recorder or a logger that fails. ROUGH_CASE names one of the functions, which returns its facts."""

import glob
import json
import logging
import os
import pickle
import sys
import warnings

import torch
from common_frameworks import STEPS, Net, dataset, report

warnings.filterwarnings("ignore")


class Lines(logging.Handler):
    """What the integrations wrote into the log."""

    def __init__(self):
        super().__init__()
        self.lines = []
        logging.getLogger("stormlog").addHandler(self)

    def emit(self, record):
        self.lines.append(record.getMessage())


def broken_sink(evidence):
    raise OSError(28, "No space left on device")


def note_rank(evidence):
    """A sink that can be pickled; every rank calls it."""
    with open(f"sink-{evidence.rank}.json", "w", encoding="utf-8") as file:
        json.dump({"steps": [step for step, _, _ in evidence.curves()], "path": evidence.path}, file)


# --- Lightning ---------------------------------------------------------------------------------------------------------


def fit(callback, loader=None, checkpoint=None, **options):
    from train_lightning import Module, pl

    trainer = pl.Trainer(**{"accelerator": "cpu", "devices": 1, "logger": False, "enable_checkpointing": False, "max_epochs": 1, **options},
                         callbacks=[callback], enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Module(), loader or torch.utils.data.DataLoader(dataset(), batch_size=8), ckpt_path=checkpoint, weights_only=False)
    return trainer


def lightning_spawned():
    """Two ranks, to which Lightning copies the callback by pickle; torch.distributed alone knows their ranks."""
    from stormlog.integrations.lightning import StormlogCallback

    fit(StormlogCallback(sinks=[note_rank]), devices=2, strategy="ddp_spawn")
    return {"ranks": sorted(glob.glob("sink-*.json")), "recordings": len(glob.glob("stormlog-runs/2*/*.slog"))}


def lightning_resumed():
    """The curves of the second half begin where the first ended."""
    from lightning.pytorch.loggers import CSVLogger
    from stormlog.integrations.lightning import StormlogCallback

    first = StormlogCallback()
    fit(first).save_checkpoint("half.ckpt", weights_only=False)
    second, logger = StormlogCallback(), CSVLogger("logs")
    fit(second, checkpoint="half.ckpt", max_epochs=2, logger=logger)
    return {"steps": [[step for step, _, _ in one.evidence.curves()] for one in (first, second)]}


def lightning_workers():
    """Forked DataLoader workers have a copy of the callback, which leaves their parent's recording alone."""
    from stormlog.integrations.lightning import StormlogCallback

    callback = StormlogCallback()

    class Asking(torch.utils.data.Dataset):
        def __len__(self):
            return STEPS * 8

        def __getitem__(self, index):
            callback.session.step()
            callback.session.fail(KeyError("in a worker"))
            return torch.randn(64), torch.randn(1)

    fit(callback, torch.utils.data.DataLoader(Asking(), batch_size=8, num_workers=2, multiprocessing_context="fork"))
    return {"steps": len(list(callback.evidence.curves())), "failures": glob.glob("stormlog-runs/2*/*.failure")}


def lightning_broken():
    """A logger and a sink that fail are lines in the log."""
    from lightning.pytorch.loggers import CSVLogger
    from stormlog.integrations.lightning import StormlogCallback

    class Broken(CSVLogger):
        def log_metrics(self, metrics, step=None):
            if any(name.startswith("memory/") for name in metrics):
                raise OSError(28, "No space left on device")

    said = Lines()
    fit(StormlogCallback(sinks=[broken_sink]), logger=Broken("logs"))
    return {"said": said.lines}


def lightning_unwritable():
    """No recording can be made: one line of the recorder, and the training goes on."""
    from stormlog.integrations.lightning import StormlogCallback

    callback = StormlogCallback(dir="/dev/null/no-folder", sinks=[note_rank])
    fit(callback)
    return {"evidence": callback.evidence}


# --- transformers ------------------------------------------------------------------------------------------------------


def trainer_for(callback, steps, **options):
    from train_transformers import LENGTH, VOCABULARY, Rows
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    model = GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=32, n_layer=2, n_head=2))
    arguments = TrainingArguments("out", max_steps=steps, per_device_train_batch_size=4, report_to=[], logging_strategy="no", use_cpu=True,
                                  disable_tqdm=True, save_strategy="steps", save_steps=STEPS // 2, **options)
    return Trainer(model=model, args=arguments, train_dataset=Rows(STEPS * 4), callbacks=[callback])


def transformers_resumed():
    """Two callbacks in one Trainer, workers, a checkpoint; then the rest of the training."""
    from stormlog.integrations.huggingface import StormlogCallback

    first = StormlogCallback()
    trainer_for(first, STEPS // 2, dataloader_num_workers=2).train()
    second = StormlogCallback(sinks=[broken_sink])
    trainer = trainer_for(second, STEPS)
    trainer.add_callback(StormlogCallback())
    trainer.train(resume_from_checkpoint=True)
    return {"steps": [[step for step, _, _ in one.evidence.curves()] for one in (first, second)]}


def transformers_pickled():
    """As Ray's hyperparameter search sends a Trainer's callbacks to its workers, also in the middle of a training."""
    from stormlog.integrations.huggingface import StormlogCallback
    from transformers import TrainerCallback

    callback, copies = StormlogCallback(sinks=[note_rank]), []

    class Copying(TrainerCallback):
        def on_step_end(self, args, state, control, **given):
            if state.global_step == 3:
                copies.append(pickle.loads(pickle.dumps(callback)))

    trainer = trainer_for(callback, STEPS)
    trainer.add_callback(Copying())
    trainer.train()
    copies[0].on_step_end(None, None, None)
    copies[0].on_train_end(None, None, None)
    return {"running": copies[0].session.is_running, "evidence": copies[0].evidence, "steps": len(list(callback.evidence.curves()))}


# --- accelerate, Ray ---------------------------------------------------------------------------------------------------


def accelerate_twice():
    """end_training() called twice, and a log() after it."""
    from accelerate import Accelerator
    from stormlog.integrations.accelerate import StormlogTracker

    tracker = StormlogTracker(sinks=[note_rank])
    accelerator = Accelerator(cpu=True, log_with=[tracker])
    accelerator.init_trackers("rough")
    net = accelerator.prepare(Net())
    for _ in range(STEPS):
        net(torch.randn(8, 64)).sum().backward()
        accelerator.log({"loss": 1.0})
    accelerator.end_training()
    tracker.log({"loss": 1.0}, step=-1)
    tracker.finish()
    return {"steps": len(list(tracker.evidence.curves()))}


def ray_callback():
    """A callback that is made on the driver and sent to a worker, which trains with it."""
    import ray
    from stormlog.integrations.lightning import StormlogCallback

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")

    @ray.remote
    def train(callback, programs, place):
        os.chdir(place)
        sys.path.insert(0, programs)
        import train_rough

        train_rough.fit(callback)
        return [step for step, _, _ in callback.evidence.curves()], os.path.basename(callback.evidence.path)

    steps, name = ray.get(train.remote(StormlogCallback(sinks=[note_rank]), os.path.dirname(os.path.abspath(__file__)), os.getcwd()))
    ray.shutdown()
    return {"steps": len(steps), "name": name.startswith("python")}


if __name__ == "__main__":
    report(**globals()[os.environ["ROUGH_CASE"]]())
