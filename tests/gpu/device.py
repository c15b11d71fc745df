# SPDX-License-Identifier: MIT
"""Whether there is a device here and a Python that can use it."""

import glob
import os
import shutil

import tap

_found = {}


def ask(code):
    """The first interpreter in which this code ends well, "" when there is none; asked once."""
    if code not in _found:
        names = [os.environ.get("STORMLOG_TORCH_PYTHON"), shutil.which("python3"), shutil.which("python"),
                 "/usr/bin/python3", *glob.glob("/opt/*/bin/python3")]
        _found[code] = next((name for name in names if name and os.path.exists(name)
                             and tap.run([name, "-c", code]).returncode == 0), "")
    return _found[code]


def find_python():
    return ask("import torch, sys; sys.exit(not torch.cuda.is_available())")


def need_device():
    if not os.path.exists("/dev/nvidiactl"):
        tap.skip("no /dev/nvidiactl on this machine")
    if not find_python():
        tap.skip("no Python here has a torch that sees the device")


def need_module(name):
    need_device()
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
    if tap.run([find_python(), "-c", code]).returncode != 0:
        tap.skip(f"no {name} for {find_python()}")
