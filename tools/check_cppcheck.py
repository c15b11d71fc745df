#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Static analysis with cppcheck, zero warnings. Argument: a build folder; results of unchanged files are kept in it.

Exit status: 0 clean, 1 warnings (printed), 77 cppcheck is not installed.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from source_tree import ROOT, c_files


def main(argv):
    build = Path(argv[0]).resolve()
    if not shutil.which("cppcheck"):
        print("cppcheck is not installed")
        return 77
    sources = [path for path in c_files("src") if path.suffix == ".c"]
    if not sources:
        return 0
    cache = build / "cppcheck"
    cache.mkdir(exist_ok=True)
    command = [
        "cppcheck", "--quiet", "--error-exitcode=1", "--std=c11", "--platform=unix64",
        "--enable=warning,performance,portability", "--inline-suppr",
        f"--suppressions-list={ROOT / 'tools' / 'cppcheck.suppress'}",
        f"--cppcheck-build-dir={cache}", f"-j{min(os.cpu_count() or 1, 8)}",
        "--template={file}:{line}: {severity}: {message} [{id}]",
        # CPython's headers are not read; these two macros open and close a block.
        "-DPy_BEGIN_ALLOW_THREADS={", "-DPy_END_ALLOW_THREADS=}",
        "-D_GNU_SOURCE", f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}", f"-I{build / 'src'}",
    ]
    return 1 if subprocess.run([*command, *map(str, sources)]).returncode else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
