# SPDX-License-Identifier: MIT
"""tfmemprof: the same C program under its third name."""

from __future__ import annotations

from typing import List, Optional

from ..cli import _replace, run


def main(argv: Optional[List[str]] = None) -> int:
    """With arguments it runs as a child, without it replaces this process."""
    if argv is not None:
        return run("tfmemprof", argv)
    _replace("tfmemprof")
    return 0


if __name__ == "__main__":
    main()
