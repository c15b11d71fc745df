# SPDX-License-Identifier: MIT
"""Where the sources are; shared by the checks in this folder."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def c_files(*folders, root=ROOT):
    """Every .c and .h below the given folders of the repository, sorted."""
    found = []
    for folder in folders:
        found += [path for path in (root / folder).rglob("*.[ch]") if path.is_file()]
    return sorted(found)
