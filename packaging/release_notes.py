#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the release notes of a version: its part of CHANGELOG.md, with a title and the files to install.

Usage: release_notes.py [VERSION]      (default: the version in meson.build; it may still be under "Unreleased")
Exit status: 0, or 1 if CHANGELOG.md has nothing about it.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNRELEASED = "Unreleased"


def sections(text):
    """{"0.1.0": its text}, in the order of the file."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
    return {head.split()[0].strip("[]"): body.strip() for head, body in zip(parts[::2], parts[1::2])}


def current_version():
    return re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]


def notes(text, version):
    """None if there is nothing about this version."""
    found = sections(text)
    body = found.get(version) or (found.get(UNRELEASED) if version == current_version() else None)
    if not body:
        return None
    # A line without a full stop that a list follows is the name of a group.
    groups = re.sub(r"^(?![-\s|#])(.+[^.:])\n(?=- )", r"## \1\n", body, flags=re.MULTILINE)
    return f"# stormlog {version}\n\n{groups}\n"


def main(argv):
    version = argv[0] if argv else current_version()
    text = notes((ROOT / "CHANGELOG.md").read_text(), version)
    if text is None:
        known = ", ".join(sections((ROOT / "CHANGELOG.md").read_text()))
        print(f"release_notes: CHANGELOG.md has no section '{version}'; it has: {known}", file=sys.stderr)
        return 1
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
