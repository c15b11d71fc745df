#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks TypeScript and JavaScript against the limits for C: the columns of .clang-format, and the lines of functions and files
that size_report.py lists. If prettier is installed (npm ci in web/), the layout is compared with prettier's, too.

    check_typescript.py [--root FOLDER]
    check_typescript.py --fix               rewrites the files with prettier

Exit status: 0 all is well, 1 something is too long or laid out differently.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from size_report import LONG_FILE_LINES, LONG_FUNCTION_LINES, script_functions
from source_tree import ROOT, script_files

PRETTIER = "web/node_modules/prettier/bin/prettier.cjs"


def column_limit(root):
    return int(re.search(r"^ColumnLimit: (\d+)$", (root / ".clang-format").read_text(), re.M)[1])


def too_long(path, name, columns):
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if len(line) > columns:
            yield f"{name}:{number}: {len(line)} columns, at most {columns}"
    for function, start, length in script_functions(lines):
        if length > LONG_FUNCTION_LINES:
            yield f"{name}:{start}: {function} has {length} lines, at most {LONG_FUNCTION_LINES}"
    if len(lines) > LONG_FILE_LINES:
        yield f"{name}: {len(lines)} lines, at most {LONG_FILE_LINES}"


def run_prettier(root, files, action):
    if not (root / PRETTIER).exists():
        print(f"layout not compared: {PRETTIER} is not installed (npm ci in web/)")
        return 0
    command = ["node", str(root / PRETTIER), "--config", str(root / "web/.prettierrc.json"), "--log-level", "warn", action]
    return subprocess.run(command + [str(path) for path in files]).returncode


def main(argv):
    parser = argparse.ArgumentParser(description="limits of TypeScript and JavaScript")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to look at")
    parser.add_argument("--fix", action="store_true", help="rewrite the files with prettier")
    args = parser.parse_args(argv)
    files = script_files(args.root)
    if args.fix:
        return run_prettier(args.root, files, "--write")
    columns = column_limit(args.root)
    found = [text for path in files for text in too_long(path, path.relative_to(args.root), columns)]
    for text in found:
        print(text)
    differs = run_prettier(args.root, files, "--check")
    if differs:
        print("`make format` rewrites them")
    return 1 if found or differs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
