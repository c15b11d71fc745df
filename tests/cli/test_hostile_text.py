# SPDX-License-Identifier: MIT
"""Names in an input, or of its file, that would control a terminal or reorder a line: every view escapes them."""

import re
import tempfile
from pathlib import Path

import tap
from cli import ROOT, stormlog

CORPUS = ROOT / "tests" / "fuzz" / "corpus"
INPUTS = ("torch/seed_escapes", "telemetry/seed_escapes", "trace/seed_escapes", "slog/seed_escapes.slog",
          "trace/hostile_gtrace.13.10.1.json")
# Escape, C1, and what changes the direction of the text around it.
HOSTILE = "\x1b[31m\u202e\u2066 $(touch here)\x9b2J"
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
VIEWS = (
    *((command, "--format", form) for command in ("analyze", "check") for form in ("txt", "json", "md", "junit")),
    *(("diff", "--at-a", "peak", "--format", form) for form in ("txt", "json", "md")),
    *((command, "--format", form) for command in ("ranks", "top", "cat", "fsck") for form in ("txt", "json")),
    *(("export", "--to", form) for form in ("folded", "events-json", "speedscope", "prometheus", "telemetry-json")),
    ("analyze", "--explain"), ("cat", "--stacks"),
)


def check(done, arguments):
    for name, text in (("stdout", done.stdout), ("stderr", done.stderr)):
        found = UNSAFE.search(text)
        if found:
            near = text[max(0, found.start() - 40):found.end() + 20]
            raise AssertionError(f"{arguments}: {found.group()!r} in {name}: {near!r}")


@tap.test("no view prints a hostile name unescaped")
def _():
    with tempfile.TemporaryDirectory() as folder:
        for name in INPUTS:
            path = Path(folder) / (HOSTILE + name.replace("/", "-"))
            path.write_bytes((CORPUS / name).read_bytes())
            for view in VIEWS:
                check(stormlog(*view, path), (*view, name))
            check(stormlog("report", path, "-o", f"{path}.html"), ("report", name))


@tap.test("no message prints a hostile name unescaped")
def _():
    for arguments in (("analyze", HOSTILE), (HOSTILE,), ("analyze", f"--{HOSTILE}"), ("analyze", "--format", HOSTILE, "x"),
                      ("top", HOSTILE), ("fsck", HOSTILE), ("cat", HOSTILE), ("ranks", HOSTILE)):
        done = stormlog(*arguments)
        tap.equal(done.returncode in (2, 3), True, f"{arguments}: exit code {done.returncode}")
        check(done, arguments)


@tap.test("pages and pictures contain no hostile name")
def _():
    with tempfile.TemporaryDirectory() as folder:
        for name in INPUTS[:4]:
            page, picture = Path(folder) / "page.html", Path(folder) / "picture.svg"
            stormlog("report", CORPUS / name, "-o", page)
            stormlog("plot", CORPUS / name, "-o", picture)
            meta = re.search('id="meta">(.*?)</script>', page.read_text(), re.S).group(1)
            found = UNSAFE.search(meta) or re.search("u(202|206|001b|009b)", meta)
            tap.equal(found, None, f"the page's description of {name}")
            if picture.exists():
                tap.equal(UNSAFE.search(picture.read_text()), None, f"the picture of {name}")


tap.main()
