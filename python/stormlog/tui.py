# SPDX-License-Identifier: MIT
"""`python -m stormlog.tui` is `stormlog`: the full-screen program."""

from __future__ import annotations

from .cli import stormlog_main


def run_app() -> int:
    """Becomes the program `stormlog`."""
    return stormlog_main()


if __name__ == "__main__":
    run_app()
