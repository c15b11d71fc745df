# SPDX-License-Identifier: MIT
"""The machine's own Python with its PyTorch, which the tests record."""

import functools
import os

import tap

PYTHON = "/usr/bin/python3"


@functools.cache
def has_torch():
    return os.path.exists(PYTHON) and tap.run([PYTHON, "-c", "import torch"]).returncode == 0


def need_torch(program):
    """Skips where there is none, or where this build of the recorder cannot be loaded into it."""
    tap.skip_if_sanitized(program)
    if not has_torch():
        tap.skip("this machine has no torch for " + PYTHON)
