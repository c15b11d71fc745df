#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares every C file of the repository with .clang-format; --fix rewrites them. Exit status: 0, 1, 77 (no clang-format)."""

import shutil
import subprocess
import sys

from source_tree import c_files


def main(argv):
    if not shutil.which("clang-format"):
        print("clang-format is not installed")
        return 77
    files = [str(path) for path in c_files("src", "include", "tests", "bench")]
    if not files:
        return 0
    mode = ["-i"] if "--fix" in argv else ["--dry-run", "-Werror"]
    return 1 if subprocess.run(["clang-format", *mode, *files]).returncode else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
