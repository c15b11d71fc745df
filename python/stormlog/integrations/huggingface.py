# SPDX-License-Identifier: MIT
"""The Trainer of transformers, and of trl: ``Trainer(…, callbacks=[StormlogCallback()])``.

An optimizer step is a step, evaluation is a phase, stacks name the running module, and the verdict is printed at the end. The Trainer has
no event for an exception. A program that dies in train() writes the evidence when it exits; where it goes on, as in a notebook:

    with StormlogCallback() as memory:
        Trainer(…, callbacks=[memory]).train()
"""

from __future__ import annotations

from typing import Any, Optional

from transformers import TrainerCallback

from ._evidence import Evidence
from ._session import Session


class StormlogCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Arguments are those of ``Session``: dir, modules, replay, cpu, page, sinks."""

    def __init__(self, **options: Any) -> None:
        self.session = Session(**options)

    @property
    def evidence(self) -> Optional[Evidence]:
        return self.session.evidence

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self.session.start()
        self.session.resume_at(state.global_step)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self.session.mark(f"epoch {int(state.epoch or 0)}")

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self.session.step()

    def on_prediction_step(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self.session.begin("evaluation")

    def on_evaluate(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self.session.end("evaluation")

    def on_predict(self, args: Any, state: Any, control: Any, metrics: Any, **given: Any) -> None:
        self.session.end("evaluation")

    def on_save(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self.session.mark(f"checkpoint at step {state.global_step}")

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self.session.finish()

    def __enter__(self) -> "StormlogCallback":
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        if error is not None:
            self.session.fail(error)
        else:
            self.session.finish()
