# SPDX-License-Identifier: MIT
"""docs/troubleshooting.md and docs/overhead.md against the sources: a message that changes, or a figure, cannot stay as it was there.

Argument: the build folder."""

import re

import tap
from pages import ROOT

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
LITERAL = r'"((?:[^"\\]|\\.)*)"'
CALL = r"\b(\w+)\(((?:[^;\"]|\"(?:[^\"\\]|\\.)*\")*);"
SPEC = r"%[-0-9.*# ]*(?:hh|h|ll|l|z|j)?[a-zA-Z]"


def statements():
    """Every call in src with texts: (path, function, [texts that stand together])."""
    for path in sorted((ROOT / "src").rglob("*.c")):
        for match in re.finditer(CALL, path.read_text()):
            arguments = re.sub(r'"\s*PRI\w+\s*"', "d", match[2])  # "%" PRIu64 " bytes": one text
            runs = ["".join(re.findall(LITERAL, part)) for part in re.split(r",(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", arguments) if '"' in part]
            if runs:
                yield path.relative_to(ROOT), match[1], [text.replace('\\"', '"').replace("\\n", "") for text in runs]


CALLS = list(statements())


def pieces(message):
    return [part for part in message.split("…") if part]


def is_in(parts, text):
    at = 0
    for part in parts:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def listed():
    """The messages of the page: the first column of the tables about messages."""
    rows = [match[1] for section in PAGE.split("\n## ")[1:] if "| message |" in section
            for match in re.finditer(r"^\| `(.+?)` \|", section, re.MULTILINE)]
    tap.true(len(rows) > 40, f"messages on the page: {len(rows)}")
    return rows


def plain(text):
    """A format as the page would write it."""
    return re.sub(r"…+", "…", re.sub(SPEC, "…", text)).replace("%%", "%")


@tap.test("every message on the page is a text of the sources")
def _():
    known = [plain(" ".join(texts)) for _, _, texts in CALLS]
    # A macro inside a text ("'" RECORDER "'") is read as nothing.
    for message in listed():
        tap.true(any(is_in(pieces(message), text) for text in known), f"no call in src has the text: {message}")


@tap.test("what a recorded process and `stormlog run` can say is on the page")
def _():
    page = [pieces(message) for message in listed()]
    wanted = [(path, texts[0]) for path, function, texts in CALLS
              if function == "sl_diag_say" or (function == "sl_cli_complain" and path.parts[:3] == ("src", "cli", "run"))]
    tap.true(len(wanted) >= 18, f"messages found: {len(wanted)}")
    missing = [f"{path}: {text}" for path, text in wanted
               if plain(text).strip("… ") and not any(is_in(parts, plain(text)) for parts in page if parts)]
    tap.equal(missing, [], "not in docs/troubleshooting.md")


@tap.test("the exit codes on the page are those of the program")
def _():
    text = (ROOT / "src" / "cli" / "core" / "cmd_table.c").read_text().split("sl_exit_rows[] = {")[1].split("};")[0]
    rows = re.findall(r'\{(\d), "([^"]+)"\}', text)
    tap.equal([(code, meaning.replace("`", "")) for code, meaning in re.findall(r"^\| (\d) \| (.+?) \|", PAGE, re.MULTILINE)], rows, "rows")


@tap.test("docs/overhead.md: each figure is in the document its row links to")
def _():
    text = (ROOT / "docs" / "overhead.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ") and re.search(r"\]\(([\w-]+\.md)#", line)]
    tap.true(len(rows) >= 8, "rows with a document")
    for row in rows:
        document = (ROOT / "docs" / re.search(r"\]\(([\w-]+\.md)#", row)[1]).read_text()
        if "gpu-results" in row:
            document += (ROOT / "docs" / "inside-the-process.md").read_text()
        cells = re.sub(r"95 % interval|H200", "", " ".join(row.split(" | ")[:2]))
        for figure in re.findall(r"[+-]?\d[\d.,]*", cells):
            tap.true(figure in document, f"{figure} of: {row}")


tap.main()
