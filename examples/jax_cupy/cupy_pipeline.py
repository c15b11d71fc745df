# SPDX-License-Identifier: MIT
"""CuPy without PyTorch: a leak seen through the driver's calls.

    stormlog run -o runs/cupy -- python3 cupy_pipeline.py

CuPy keeps freed blocks in a pool of its own. Without the pool (set_allocator(None)) every array is a call of the driver, and the
line of each is known; with it the recording shows the pool's chunks.
"""

import sys

import cupy
import stormlog

ROWS = 1 << 20


def smooth(signal):
    return (signal[:-2] + signal[1:-1] + signal[2:]) / 3


def main(steps=40, uses_pool=False):
    if not uses_pool:
        cupy.cuda.set_allocator(None)
    seen = []
    for step in range(steps):
        signal = cupy.random.standard_normal(ROWS, dtype=cupy.float32)
        seen.append(smooth(signal))  # the leak: every result stays on the card
        cupy.cuda.get_current_stream().synchronize()
        stormlog.step(step)
    print(f"{len(seen)} results of {seen[0].nbytes / 1024 ** 2:.1f} MiB are kept")


main(uses_pool="--pool" in sys.argv)
