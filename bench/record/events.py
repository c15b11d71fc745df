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


ways = {"not recorded": None, "no stacks": ["--stacks", "none"], "30 Python frames": [],
        "native frames": ["--stacks", "native"]}
results = {name: [] for name in ways}
for _ in range(runs):  # alternating, so that load on the machine affects all of them
    for name, options in ways.items():
        results[name].append(measure(options))


def row(name, values, target):
    middle = statistics.median(values)
    verdict = f"target {target} ns: {'reached' if middle <= target else 'missed'}" if target else ""
    print(f"{name:34} {middle:7.1f} ns {min(values):7.1f} ns {max(values):7.1f} ns   {verdict}")


print(f"{runs} alternating runs of {int(events):,} events, half of them allocs; CPU time of the calling thread")
print(f"{'':34} {'median':>10} {'min':>10} {'max':>10}")
row("the call alone, nothing recorded", results["not recorded"], None)
row("an event without a stack", results["no stacks"], 100)
# Half of the events carry a stack; the other half cost what they cost without.
row("an alloc with 30 Python frames", [2 * both - plain for both, plain in
                                       zip(results["30 Python frames"], results["no stacks"])], 300)
row("the same and its native frames", [2 * both - plain for both, plain in
                                       zip(results["native frames"], results["no stacks"])], None)
