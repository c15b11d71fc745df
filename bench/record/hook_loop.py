# SPDX-License-Identifier: MIT
"""Calls the loop of hook_loop.c from a Python stack of 30 frames. Arguments: library, events. Prints ns per event."""

import ctypes
import sys

loop = ctypes.CDLL(sys.argv[1]).hook_loop
loop.restype = ctypes.c_double
loop.argtypes = [ctypes.c_long]


def deep(frames):
    return loop(int(sys.argv[2])) if frames == 0 else deep(frames - 1)


deep(28)
print(deep(28))
