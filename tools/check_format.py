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


# Starting clang-format takes longer than checking a file.
FILES_PER_CALL = 40


def unclean(paths):
    """Those that it would change. It names each place, so a clean file is not named."""
    done = subprocess.run(["clang-format", "--dry-run", "--Werror", *map(str, paths)], capture_output=True, text=True)
    if done.returncode == 0:
        return []
    return [path for path in paths if f"{path}:" in done.stderr] or paths


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
    parts = [files[at:at + FILES_PER_CALL] for at in range(0, len(files), FILES_PER_CALL)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        suspects = [path for found in pool.map(unclean, parts) for path in found]
        differences = [text for text in pool.map(difference, suspects) if text]
    if differences:
        print("\n".join(differences))
        print(f"{len(differences)} files differ; `make format` rewrites them")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
