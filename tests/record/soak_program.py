# SPDX-License-Identifier: MIT
"""Reports events by the million and watches its own memory. Arguments: the library, millions of events. Prints JSON."""

import ctypes
import json
import sys

loop = ctypes.CDLL(sys.argv[1]).hook_loop
loop.restype = ctypes.c_double
loop.argtypes = [ctypes.c_long]
PAGE = 4096


def resident_private():
    """Bytes of memory that is this process's own; the mapped recording does not count."""
    with open("/proc/self/statm") as file:
        fields = file.read().split()
    return (int(fields[1]) - int(fields[2])) * PAGE


def burst(millions):
    return loop(millions * 1000000)


burst(10)
before = resident_private()
peak = before
for _ in range(int(sys.argv[2]) // 10 - 1):
    burst(10)
    peak = max(peak, resident_private())
print(json.dumps({"events": int(sys.argv[2]) // 10 * 10000000, "before": before, "peak": peak}))
