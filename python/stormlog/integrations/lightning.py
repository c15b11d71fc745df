# SPDX-License-Identifier: MIT
"""Lightning: ``Trainer(callbacks=[StormlogCallback()])``.

A batch is a step; validation, test and prediction are phases; stacks name the running module. At the end the verdict is printed and the
curves go to the trainer's loggers. If the training raises, ``<recording>.failure`` holds a snapshot, the report and the page.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback  # type: ignore[no-redef, assignment, unused-ignore]

from ._evidence import Evidence
from ._session import Session


class StormlogCallback(Callback):  # type: ignore[misc, unused-ignore]
    """Arguments are those of ``Session``: dir, modules, replay, cpu, page, sinks. ``log_curves``: one point per step in every logger of
    the trainer, when the training has ended."""

    def __init__(self, *, log_curves: bool = True, **options: Any) -> None:
        super().__init__()
        self.session = Session(**options)
        self._log_curves = log_curves

    @property
    def evidence(self) -> Optional[Evidence]:
        return self.session.evidence

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self.session.start()
        self.session.mark(f"{stage} begins")

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """A checkpoint is restored after setup()."""
        self.session.attempt("the first step", lambda: self.session.resume_at(trainer.fit_loop.total_batch_idx + 1))

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self.session.step()

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self.session.mark(f"epoch {trainer.current_epoch}")

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        self.session.begin("sanity check" if trainer.sanity_checking else "validation")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self.session.end("sanity check" if trainer.sanity_checking else "validation")

    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        self.session.begin("test")

    def on_test_end(self, trainer: Any, pl_module: Any) -> None:
        self.session.end("test")

    def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
        self.session.begin("prediction")

    def on_predict_end(self, trainer: Any, pl_module: Any) -> None:
        self.session.end("prediction")

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Dict[str, Any]) -> None:
        self.session.mark(f"checkpoint at step {trainer.global_step}")

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._log(trainer, self.session.fail(exception))

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if self.session.is_running:
            self._log(trainer, self.session.finish())

    def _log(self, trainer: Any, evidence: Optional[Evidence]) -> None:
        if evidence is not None and evidence.rank == 0 and self._log_curves:
            self.session.attempt("the curves", self._log_each, trainer.loggers, evidence)

    def _log_each(self, loggers: Sequence[Any], evidence: Evidence) -> None:
        for step, _, figures in evidence.curves():
            for logger in loggers:
                logger.log_metrics({f"memory/{name}": float(value) for name, value in figures.items()}, step=step)
