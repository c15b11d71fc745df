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


def script_files(root=ROOT):
    """Every TypeScript and JavaScript file that is written by hand, sorted: the page, its tests, its benchmark."""
    found = list((root / "web").glob("*.mjs"))
    for folder, ending in [("web/src", "*.ts"), ("tests/web", "*.mjs"), ("bench/page", "*.mjs")]:
        found += (root / folder).rglob(ending)
    return sorted(found)
