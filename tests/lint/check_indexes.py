# SPDX-License-Identifier: MIT
"""The tables of folders and documents have a row for everything that exists, and name nothing else."""

import re
import subprocess
from pathlib import Path

import tap

ROOT = Path(__file__).resolve().parents[2]
FILES = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
CHARTER = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/README.md", "tests/README.md"]


def rows(path, pattern):
    """What the first column of its tables holds, in order."""
    return [match[1] for line in (ROOT / path).read_text().splitlines() if (match := re.match(r"\| " + pattern + r" \|", line))]


def folders(parent):
    return sorted(path.name for path in (ROOT / parent).iterdir()
                  if path.is_dir() and any(path.glob("**/*.*")) and path.name != "__pycache__")


@tap.test("tests/README.md has a row for each folder")
def _():
    tap.equal(sorted(rows("tests/README.md", r"`(\w+)`")), folders("tests"), "folders of tests")


@tap.test("docs/README.md has a row for each document")
def _():
    there = [path.name for path in (ROOT / "docs").glob("*.md") if path.name != "README.md"] + [f"{name}/" for name in folders("docs")]
    tap.equal(sorted(rows("docs/README.md", r"\[([\w./-]+)\]\([\w./-]+\)")), sorted(there), "documents")


@tap.test("the site's navigation has a line for each document")
def _():
    named = re.findall(r": ([\w-]+\.md)$", (ROOT / "docs" / "mkdocs.yml").read_text(), re.MULTILINE)
    there = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    tap.equal(sorted(set(named) - {"changelog.md", "architecture.md", "contributing.md", "tests.md"}), sorted(there), "docs/mkdocs.yml")


@tap.test("ARCHITECTURE.md has a row for each folder of src, with the folders below it")
def _():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    owned = {match[1]: match[2] for match in re.finditer(r"^\| `(\w+)` \| (.*?) \|", text, re.MULTILINE)}
    tap.equal(sorted(owned), folders("src"), "folders of src")
    for name, words in owned.items():
        missing = [below for below in folders(f"src/{name}") if f"`{below}`" not in words]
        tap.equal(missing, [], f"folders below src/{name} that its row does not name")


@tap.test("files that the tables name exist")
def _():
    if not FILES:
        tap.skip("this is not a git checkout")
    for path in CHARTER:
        for name in re.findall(r"`([\w./-]+\.(?:c|h|py|ts|md|sh|build|pyi))`", (ROOT / path).read_text()):
            found = any(file == name or file.endswith("/" + name.removeprefix("../")) or name == "../" + file for file in FILES)
            tap.true(found or name in {"_impl.h", "common.h", "utils.c"}, f"{path} names {name}")


tap.main()
