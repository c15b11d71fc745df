# SPDX-License-Identifier: MIT
"""tfmemprof: the same C program under its third name."""

from __future__ import annotations

from typing import List, Optional

from ..cli import replace, run_or_exit


def main(argv: Optional[List[str]] = None) -> int:
    """With arguments: returns the exit code. Without: uses those of this process and raises SystemExit for a failure."""
    return run_or_exit("tfmemprof", argv)


def tfmemprof_program() -> None:
    """The console script tfmemprof."""
    replace("tfmemprof")


if __name__ == "__main__":
    replace("tfmemprof")
