# SPDX-License-Identifier: MIT
"""setuptools' backend, which also asks for meson and ninja where the machine has none that works. A fixed list in pyproject.toml
would fetch them everywhere, and would refuse Debian's ninja, which Python does not know as a package."""

import subprocess

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403: the hooks of the backend

PROGRAMS = {"meson": "meson>=1.0", "ninja": "ninja"}


def works(program):
    """Debian's meson does not in pip's environment for a build with Debian's Python: its modules are hidden there."""
    try:
        return subprocess.run([program, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def get_requires_for_build_wheel(config_settings=None):
    missing = [package for program, package in PROGRAMS.items() if not works(program)]
    return build_meta.get_requires_for_build_wheel(config_settings) + missing
