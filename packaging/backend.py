# SPDX-License-Identifier: MIT
"""setuptools' backend, which also asks for meson and ninja where the machine has none. A fixed list in pyproject.toml would
fetch them everywhere, and would refuse Debian's ninja, which Python does not know as a package."""

import shutil

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403: the hooks of the backend

PROGRAMS = {"meson": "meson>=1.0", "ninja": "ninja"}


def get_requires_for_build_wheel(config_settings=None):
    missing = [package for program, package in PROGRAMS.items() if not shutil.which(program)]
    return build_meta.get_requires_for_build_wheel(config_settings) + missing
