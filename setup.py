# SPDX-License-Identifier: MIT
"""Packs what meson builds. The Python files and both extension modules come from the build folder's python/, where `make`
puts them; the program and the recorder's library go into stormlog/_bin. One wheel serves every CPython from 3.9 on. It is
tagged for any Linux with a glibc that is new enough, if it needs no other library; else for this machine.

STORMLOG_MESON_ARGS adds options to `meson setup`: a wheel for other machines leaves out what they may not have, as in
STORMLOG_MESON_ARGS="-Dcairo=disabled -Dcurl=disabled". STORMLOG_NOTICES names a folder with the licences of libraries that are
linked in. packaging/wheel/build.sh sets both."""

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
# Parts of glibc; any other library may be missing on another machine.
GLIBC = re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux-x86-64|ld-linux-aarch64)\.so\.\d+")


def version():
    return re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]


class BuildWithMeson(build_py):
    """Ignores setuptools' own search for files."""

    def run(self):
        folder = Path(self.get_finalized_command("build").build_temp).resolve() / "meson"
        made = folder / "build.ninja"
        if made.exists() and str(shutil.which("meson")) not in made.read_text():
            shutil.rmtree(folder)  # of an earlier pip, whose own meson is gone
        if not made.exists():
            extra = shlex.split(os.environ.get("STORMLOG_MESON_ARGS", ""))
            subprocess.run(["meson", "setup", folder, "-Dpython=enabled", "-Dcmocka=disabled", *extra], cwd=ROOT, check=True)
        subprocess.run(["ninja", "-C", folder, "wheel-products"], check=True)
        self.pack(folder, Path(self.build_lib))

    def pack(self, folder, target):
        for name in PACKAGES:
            shutil.copytree(folder / "python" / name, target / name, dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns("*.p", "__pycache__"))
        binaries = target / "stormlog" / "_bin"
        binaries.mkdir(exist_ok=True)
        # One program: gpumemprof and tfmemprof are names that stormlog/cli.py calls it by.
        for name in ("stormlog", "libstormlog_record.so"):
            shutil.copy2(folder / name, binaries)
        if "STORMLOG_NOTICES" in os.environ:
            shutil.copytree(os.environ["STORMLOG_NOTICES"], binaries / "licenses", dirs_exist_ok=True)

    def get_outputs(self, include_bytecode=True):
        return [str(path) for path in Path(self.build_lib).rglob("*") if path.is_file()]


def glibc_needed(folder):
    """The newest glibc that a file in it asks for, as (2, 27); None if one needs another library."""
    newest = (0, 0)
    for path in folder.rglob("*"):
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
            listing = subprocess.run(["readelf", "-dVW", path], check=True, capture_output=True, text=True).stdout
            needed = re.findall(r"\(NEEDED\).*\[(.+)\]", listing)
            if not all(GLIBC.fullmatch(name) for name in needed):
                return None
            newest = max(newest, *[tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_(\d+\.\d+)", listing)])
    return newest


class AbiWheel(bdist_wheel):
    def get_tag(self):
        platform = super().get_tag()[2]
        version = glibc_needed(Path(self.get_finalized_command("build_py").build_lib))
        if version:
            platform = f"manylinux_{version[0]}_{version[1]}_{platform.removeprefix('linux_')}"
        return "cp39", "abi3", platform


class BinaryDistribution(Distribution):
    """Holds machine code, although setuptools is told of no extension."""

    def has_ext_modules(self):
        return True


setup(version=version(), packages=list(PACKAGES), package_dir={"": "python"}, distclass=BinaryDistribution,
      cmdclass={"build_py": BuildWithMeson, "bdist_wheel": AbiWheel})
