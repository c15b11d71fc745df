# SPDX-License-Identifier: MIT
"""`python -m stormlog.tui [PATH|PID]` is `stormlog tui`: the full-screen program."""

from __future__ import annotations

from ..cli import replace


def run_app() -> None:
    """Becomes the program `stormlog tui`, which needs the terminal for itself."""
    replace("stormlog", "tui")
