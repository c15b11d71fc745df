# SPDX-License-Identifier: MIT
"""tfmemprof: the same C program under its third name."""

from __future__ import annotations

import argparse
from typing import List, Optional

from ..cli import option_words, replace, run, run_or_exit


def main(argv: Optional[List[str]] = None) -> int:
    """With arguments: returns the exit code. Without: uses those of this process and raises SystemExit for a failure."""
    return run_or_exit("tfmemprof", argv)


def tfmemprof_program() -> None:
    """The console script tfmemprof."""
    replace("tfmemprof")


# --- single commands, with the parsed arguments of the Python tool ---------------------------------------------------


def cmd_info(args: argparse.Namespace) -> int:
    return run("tfmemprof", ["info", *option_words(args)])


def cmd_monitor(args: argparse.Namespace) -> int:
    return run("tfmemprof", ["monitor", *option_words(args)])


def cmd_track(args: argparse.Namespace) -> int:
    return run("tfmemprof", ["track", *option_words(args)])


def cmd_analyze(args: argparse.Namespace) -> int:
    return run("tfmemprof", ["analyze", *option_words(args)])


def cmd_diagnose(args: argparse.Namespace) -> int:
    return run("tfmemprof", ["diagnose", *option_words(args)])


if __name__ == "__main__":
    replace("tfmemprof")
