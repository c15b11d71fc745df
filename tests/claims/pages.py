# SPDX-License-Identifier: MIT
"""The documents whose claims are tested, cut into what can be checked."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv[1]).resolve()
del sys.argv[1]
STORMLOG = BUILD / "stormlog"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md"), *(ROOT / "tests").glob("*.md"),
                *(ROOT / "tests").glob("*/README.md")])


@dataclass
class Block:
    """A fenced block: ```kind ... ```."""

    page: Path
    line: int
    kind: str
    text: str

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page):
    found, lines = [], page.read_text().splitlines()
    inside = None
    for number, line in enumerate(lines, 1):
        if inside is None and (match := re.match(r"```(\w*)$", line)):
            inside = Block(page, number, match[1], "")
        elif inside is not None and line == "```":
            found.append(inside)
            inside = None
        elif inside is not None:
            inside.text += line + "\n"
    return found


def prose(page):
    """The text without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def codes(page):
    """Everything `between backticks`, outside of blocks."""
    return re.findall(r"`([^`\n]+)`", prose(page))
