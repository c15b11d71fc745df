#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares every C file of the repository with what .clang-format makes of it and prints the differences; --fix rewrites.

Exit status: 0 no difference, 1 differences, 77 clang-format is not installed.
"""

import difflib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from source_tree import ROOT, c_files


def difference(path):
    found = path.read_text()
    formatted = subprocess.run(["clang-format", str(path)], check=True, capture_output=True, text=True).stdout
    name = str(path.relative_to(ROOT))
    lines = difflib.unified_diff(found.splitlines(), formatted.splitlines(), name, f"{name} formatted", lineterm="", n=1)
    return "\n".join(lines)


def main(argv):
    if not shutil.which("clang-format"):
        print("clang-format is not installed")
        return 77
    files = c_files("src", "include", "tests", "bench", "packaging")
    if "--fix" in argv:
        return subprocess.run(["clang-format", "-i", *map(str, files)]).returncode if files else 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        differences = [text for text in pool.map(difference, files) if text]
    if differences:
        print("\n".join(differences))
        print(f"{len(differences)} files differ; `make format` rewrites them")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
