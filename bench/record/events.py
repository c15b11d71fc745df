# SPDX-License-Identifier: MIT
"""ns per recorded event: nothing, no stacks, stacks of 30 Python frames. Arguments: build folder, runs, events."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile

build, runs, events = sys.argv[1], int(sys.argv[2]), sys.argv[3]
here = os.path.dirname(os.path.abspath(__file__))
stormlog = os.path.join(build, "stormlog")
loop = [sys.executable, os.path.join(here, "hook_loop.py"), os.path.join(build, "bench/libhook_loop.so"), events]


def measure(options):
    folder = tempfile.mkdtemp(prefix="stormlog-bench-")
    command = loop if options is None else [stormlog, "run", "-q", "-o", folder, *options, "--", *loop]
    try:
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    finally:
        shutil.rmtree(folder)


ways = {"not recorded": None, "no stacks": ["--stacks", "none"], "30 Python frames": []}
results = {name: [] for name in ways}
for _ in range(runs):  # alternating, so that a busy moment of the machine hits all of them
    for name, options in ways.items():
        results[name].append(measure(options))
base = statistics.median(results["not recorded"])
print(f"{runs} alternating runs of {int(events):,} events (half allocs, half frees; frees carry no stack)")
print(f"{'':18} {'median':>9} {'min':>9} {'max':>9}   added, median   per alloc with its free")
for name, values in results.items():
    added = statistics.median(values) - base
    print(f"{name:18} {statistics.median(values):6.1f} ns {min(values):6.1f} ns {max(values):6.1f} ns   {added:10.1f} ns"
          f"   {2 * added:10.1f} ns")
