# SPDX-License-Identifier: MIT
"""The commands are one C program; these functions start it under the right name."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import List, Optional

from ._files import find_program


def _command(name: str) -> str:
    program = find_program(name)
    if program is None:
        sys.stderr.write(f"{name}: the C program was found neither beside the package nor on PATH; "
                         "build it with `make`, or install the package\n")
        raise SystemExit(4)
    return str(program)


def run(name: str, arguments: List[str]) -> int:
    """Runs the program and returns its exit code."""
    return subprocess.run([_command(name), *arguments]).returncode


def _replace(name: str) -> None:
    """Becomes the program: signals and exit code need no forwarding."""
    program = _command(name)
    sys.stdout.flush()
    os.execv(program, [name, *sys.argv[1:]])


def main(argv: Optional[List[str]] = None) -> int:
    """gpumemprof. With arguments it runs as a child, without it replaces this process."""
    if argv is not None:
        return run("gpumemprof", argv)
    _replace("gpumemprof")
    return 0


def stormlog_main(argv: Optional[List[str]] = None) -> int:
    """stormlog."""
    if argv is not None:
        return run("stormlog", argv)
    _replace("stormlog")
    return 0


if __name__ == "__main__":
    main()
