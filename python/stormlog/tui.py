# SPDX-License-Identifier: MIT
"""`python -m stormlog.tui` is `stormlog`: the full-screen program."""

from __future__ import annotations

from .cli import replace


def run_app() -> None:
    """Becomes the program `stormlog`, which needs the terminal for itself."""
    replace("stormlog")


if __name__ == "__main__":
    run_app()
