# SPDX-License-Identifier: MIT
"""tools/check_typescript.py refuses what is too long, and names it."""

import sys
from pathlib import Path

import tap

CHECK = Path(__file__).resolve().parents[2] / "tools" / "check_typescript.py"


def check(folder, name, text):
    """What is said of a tree that holds this one file."""
    root = Path(folder)
    (root / ".clang-format").write_text("ColumnLimit: 100\n")
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    result = tap.run([sys.executable, str(CHECK), "--root", folder])
    tap.equal(result.stderr, "", "stderr")
    return result.returncode, result.stdout


def function(lines):
    return "function long(): void {\n" + "  call();\n" * (lines - 2) + "}\n"


CASES = {
    # name: (file, text, part of the message; None where it passes)
    "a line of 100 columns": ("web/src/a.ts", "x" * 100 + "\n", None),
    "a line of 101 columns": ("web/src/a.ts", "x" * 101 + "\n", "web/src/a.ts:1: 101 columns"),
    "columns are characters": ("web/src/a.ts", "\u00b5" * 100 + "\n", None),
    "a function of 60 lines": ("web/src/views/a.ts", function(60), None),
    "a function of 61 lines": ("web/src/views/a.ts", function(61), "web/src/views/a.ts:1: long has 61 lines"),
    "a file of 601 lines": ("tests/web/unit/a.test.mjs", "x;\n" * 601, "tests/web/unit/a.test.mjs: 601 lines"),
}

for name, (file, text, message) in CASES.items():
    @tap.test(name)
    def _(folder, file=file, text=text, message=message):
        status, said = check(folder, file, text)
        tap.equal(status, 0 if message is None else 1, "exit status")
        if message is not None:
            tap.contains(said, message, "message")


tap.main()
