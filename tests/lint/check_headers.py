# SPDX-License-Identifier: MIT
"""Compiles every header alone: public ones as strict C99 and as C++17, all of them as the C17 the project uses.

Arguments: the build folder (for the generated sl_config.h), then the C compiler's command.
"""

import shutil
import sys
import sysconfig
from pathlib import Path

import tap

ROOT = Path(__file__).resolve().parents[2]
build, compiler = Path(sys.argv[1]), sys.argv[2:]
del sys.argv[1:]

STRICT = ["-pedantic", "-Wall", "-Wextra", "-Werror"]
PUBLIC = [f"-I{ROOT / 'include'}"]
PRIVATE = [*PUBLIC, f"-I{ROOT / 'src'}", f"-I{build / 'src'}", "-D_GNU_SOURCE"]


# The extension's own headers start from Python.h; every other header must do without it.
PYTHON = Path(sysconfig.get_path("include"))


def compile_alone(command, language, header):
    """Twice, because the second time shows a missing guard; and a declaration, because C forbids an empty file."""
    source = f'#include "{header}"\n#include "{header}"\nextern int sl_not_empty;\n'
    done = tap.run([*command, "-x", language, "-fsyntax-only", "-"], input=source)
    if done.returncode:
        raise AssertionError(done.stderr)


def add(name, command, language, header):
    @tap.test(name)
    def _():
        if header.parts[0] == "pyext":
            if not (PYTHON / "Python.h").exists():
                tap.skip("Python.h is not installed")
            command.append(f"-I{PYTHON}")
        if not shutil.which(command[0]):
            tap.skip(f"{command[0]} is not installed")
        compile_alone(command, language, header)


for path in sorted((ROOT / "include").rglob("*.h")):
    header = path.relative_to(ROOT / "include")
    add(f"{header} as C99", [*compiler, "-std=c99", *STRICT, *PUBLIC], "c", header)
    add(f"{header} as C++17", ["g++", "-std=c++17", *STRICT, *PUBLIC], "c++", header)

for path in sorted((ROOT / "src").rglob("*.h")):
    header = path.relative_to(ROOT / "src")
    add(f"{header} stands alone", [*compiler, "-std=c17", "-Wall", "-Wextra", "-Werror", *PRIVATE], "c", header)

tap.main()
