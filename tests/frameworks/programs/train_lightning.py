# SPDX-License-Identifier: MIT
"""Lightning: a LightningModule, with validation, and the callback. FRAMEWORK_FAILS: the training raises in the middle."""

import os
import warnings

import lightning.pytorch as pl
import torch
from common_frameworks import DEVICE, IS_USED, STEPS, Net, dataset, facts_of, keep_one, note_counters, report

warnings.filterwarnings("ignore")


class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        keep_one(loss)
        if os.environ.get("FRAMEWORK_FAILS") and index == STEPS // 2:
            raise RuntimeError("made to fail")
        return loss

    def validation_step(self, batch, index):
        self.log("loss", torch.nn.functional.mse_loss(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


def main():
    callbacks, callback, logger = [], None, False
    if IS_USED:
        from lightning.pytorch.loggers import CSVLogger
        from stormlog.integrations.lightning import StormlogCallback

        callback = StormlogCallback(page=True, sinks=[note_counters])
        callbacks, logger = [callback], CSVLogger("logs")
    trainer = pl.Trainer(max_epochs=1, accelerator=DEVICE, devices=1, logger=logger, callbacks=callbacks, enable_checkpointing=False,
                         enable_progress_bar=False, enable_model_summary=False)
    loader = torch.utils.data.DataLoader(dataset(), batch_size=8)
    module = Module()
    try:
        trainer.fit(module, loader, torch.utils.data.DataLoader(dataset(16), batch_size=8))
    except RuntimeError as error:
        if "made to fail" not in str(error):
            raise
    if callback is None:
        report(steps=STEPS)
    else:
        with open(os.path.join(logger.log_dir, "metrics.csv"), encoding="utf-8") as file:
            table = file.read()
        report(**facts_of(callback.evidence), page=os.path.exists(f"{callback.evidence.path}.html"), logged="memory/" in table,
               failure=callback.session.failure_path and sorted(os.listdir(callback.session.failure_path)))
    return module, trainer


if __name__ == "__main__":
    kept_to_the_end = main()
