# SPDX-License-Identifier: MIT
"""Packs what meson builds. The Python files and both extension modules come from the build folder's python/, where `make`
puts them; the program and the recorder's library go into stormlog/_bin. One wheel serves every CPython from 3.9 on.

STORMLOG_MESON_ARGS adds options to `meson setup`: a wheel for other machines leaves out what they may not have, as in
STORMLOG_MESON_ARGS="-Dcairo=disabled -Dcurl=disabled"."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

ROOT = Path(__file__).resolve().parent
PACKAGES = ("stormlog", "gpumemprof")
PROGRAMS = ("stormlog", "gpumemprof", "tfmemprof")


def version():
    return re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]


class BuildWithMeson(build_py):
    """Ignores setuptools' own search for files."""

    def run(self):
        folder = Path(self.get_finalized_command("build").build_temp).resolve() / "meson"
        if not (folder / "build.ninja").exists():
            extra = shlex.split(os.environ.get("STORMLOG_MESON_ARGS", ""))
            subprocess.run(["meson", "setup", folder, "-Dpython=enabled", "-Dcmocka=disabled", *extra], cwd=ROOT, check=True)
        subprocess.run(["ninja", "-C", folder], check=True)
        self.pack(folder, Path(self.build_lib))

    def pack(self, folder, target):
        for name in PACKAGES:
            shutil.copytree(folder / "python" / name, target / name, dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns("*.p", "__pycache__"))
        binaries = target / "stormlog" / "_bin"
        binaries.mkdir(exist_ok=True)
        shutil.copy2(folder / "libstormlog_record.so", binaries)
        for name in PROGRAMS:
            # Wheels hold no links; the copies are the same program, which looks at the name it is called by.
            shutil.copy2(folder / "stormlog", binaries / name)

    def get_outputs(self, include_bytecode=True):
        return [str(path) for path in Path(self.build_lib).rglob("*") if path.is_file()]


class AbiWheel(bdist_wheel):
    def get_tag(self):
        return "cp39", "abi3", super().get_tag()[2]


class BinaryDistribution(Distribution):
    """Holds machine code, although setuptools is told of no extension."""

    def has_ext_modules(self):
        return True


setup(version=version(), packages=list(PACKAGES), package_dir={"": "python"}, distclass=BinaryDistribution,
      cmdclass={"build_py": BuildWithMeson, "bdist_wheel": AbiWheel})
