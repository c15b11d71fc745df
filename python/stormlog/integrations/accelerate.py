# SPDX-License-Identifier: MIT
"""accelerate: ``Accelerator(log_with=[StormlogTracker(), "tensorboard"])``; each accelerator.log(…) ends a step, end_training() gives the
verdict. Every process records itself; the first one prints."""

from __future__ import annotations

from typing import Any, Dict, Optional

from accelerate.tracking import GeneralTracker  # type: ignore[import-untyped, unused-ignore]

from ._evidence import Evidence
from ._session import Session


class StormlogTracker(GeneralTracker):  # type: ignore[misc, unused-ignore]
    """Arguments are those of ``Session``: dir, modules, replay, cpu, page, sinks. Recording begins when the tracker is made."""

    name = "stormlog"
    requires_logging_directory = False
    main_process_only = False

    def __init__(self, run_name: str = "stormlog", **options: Any) -> None:
        super().__init__()
        self.run_name = run_name
        self.session = Session(**options)
        self.session.start()

    @property
    def tracker(self) -> Session:
        return self.session

    @property
    def evidence(self) -> Optional[Evidence]:
        return self.session.evidence

    def start(self) -> None:
        """accelerate calls it again; recording has begun."""

    def store_init_configuration(self, values: Dict[str, Any]) -> None:
        self.session.mark(f"{self.run_name} begins")

    def log(self, values: Dict[str, Any], step: Optional[int] = None, **given: Any) -> None:
        self.session.step(step)

    def finish(self) -> None:
        self.session.finish()
