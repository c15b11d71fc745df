# SPDX-License-Identifier: MIT
"""Memory events for the programs of this folder; the same calls on the stand-ins, on torch's CPU and on CUDA.

The runner chooses with variables: HOSTILE_KIND (fake, cpu, cuda), HOSTILE_MODE (plain, run, api). Runs under every Python
from 3.6 on.
"""

import ctypes
import os
import sys
import threading

KIND = os.environ["HOSTILE_KIND"]
MODE = os.environ["HOSTILE_MODE"]
IS_RECORDED = MODE != "plain"
RUN_FOLDER = os.environ["HOSTILE_RUN"]
native = ctypes.CDLL(os.environ["HOSTILE_NATIVE"])
native.native_alloc.argtypes = [ctypes.c_long, ctypes.c_int]
_kept = []
_state = {"base": 0x100000000, "library": None}

if KIND == "fake":
    kit = ctypes.CDLL(os.environ["HOSTILE_KIT"])
    kit.kit_churn.argtypes = kit.kit_hold.argtypes = [ctypes.c_long, ctypes.c_uint64]
    kit.kit_oom.argtypes = [ctypes.c_long]
else:
    import torch


if MODE == "api":  # now: later there may be no descriptor left to load it with
    _state["library"] = ctypes.CDLL(os.environ["HOSTILE_LIBRARY"])


class _Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("cpu", ctypes.c_uint32), ("stacks", ctypes.c_uint32),
                ("interval_ms", ctypes.c_uint32), ("ring_bytes", ctypes.c_uint64), ("dir", ctypes.c_char_p)]


def start():
    """Starts a recording from inside in the mode api; 0 when it is on."""
    if MODE != "api":
        return 0
    library = _state["library"]
    options = _Options(struct_size=ctypes.sizeof(_Options), cpu=1, interval_ms=10)
    return library.sl_record_start(ctypes.byref(options))


def stop():
    if _state["library"]:
        _state["library"].sl_record_stop()


def begin():
    """Starts where that is asked for, then makes the first event."""
    assert start() == 0, "the recording could not be started"
    churn(1)


def churn(count):
    """count blocks, each freed before the next one comes."""
    if KIND == "fake":
        kit.kit_churn(count, 0x10000 + threading.get_ident())  # no allocator gives one address to two threads
    else:
        for _ in range(count):
            torch.zeros(8, device=KIND)


def hold(count):
    """count blocks that stay until the end, so that the recording has to grow."""
    if KIND == "fake":
        _state["base"] += 1 << 32
        kit.kit_hold(count, _state["base"])
    else:
        _kept.extend(torch.zeros(1, device=KIND) for _ in range(count))


def recordings():
    """Files of this recording; none in the plain program."""
    if not IS_RECORDED or not os.path.isdir(RUN_FOLDER):
        return []
    return sorted(os.path.join(RUN_FOLDER, name) for name in os.listdir(RUN_FOLDER) if name.endswith(".slog"))


def say(*values):
    print(*values)
    sys.stdout.flush()


class _Nothing:
    """What record() returns in the plain program."""

    path = None
    is_on = False

    def stop(self):
        pass


def record(**options):
    """stormlog.record() of the Python package, where the program is recorded."""
    if MODE not in ("api", "both"):
        return _Nothing()
    import stormlog
    return stormlog.record(dir=RUN_FOLDER, cpu=True, interval_ms=10, **options)
