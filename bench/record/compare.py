#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The effect of a change on the cost of an event while training: two builds, alternating, each report timed as in steps.py.
Arguments: build folder before, build folder after (each made by `make bench-record` or `ninja bench-programs`), runs.

    git worktree add /tmp/before HEAD~1 && make -C /tmp/before build && ninja -C /tmp/before/build bench-programs
    bench/record/compare.py /tmp/before/build build
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile

STEPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "steps.py")
PYTHON = os.environ.get("STORMLOG_TORCH_PYTHON", "/usr/bin/python3")
TIMED = re.compile(r"\| (alloc|free) \| (\d+ KiB) \|.*\| (-?\d+) \|$")
WHOLE = re.compile(r"\| stormlog \| main thread \|.*\| (-?\d+) \|$")


def measure(build):
    """ns by (what, other memory read before)."""
    with tempfile.TemporaryDirectory(prefix="stormlog-bench-") as folder:
        command = [os.path.join(build, "stormlog"), "run", "-q", "-o", folder, "--", PYTHON, STEPS, "--work", "stormlog run",
                   build, folder, "40", "3"]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    timed = {(found[1], found[2]): int(found[3]) for found in map(TIMED.match, lines) if found}
    return {**timed, **{("whole step, an event", ""): int(found[1]) for found in map(WHOLE.match, lines) if found}}


def main():
    builds = [os.path.abspath(path) for path in sys.argv[1:3]]
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    seen = {}
    for number in range(runs):
        for which in (0, 1) if number % 2 else (1, 0):
            for key, value in measure(builds[which]).items():
                seen.setdefault(key, ([], []))[which].append(value)
    print(f"{runs} alternating runs; ns, median (least to most)")
    for (what, memory), pair in seen.items():
        before, after = (f"{statistics.median(values):.0f} ({min(values)} to {max(values)})" for values in pair)
        print(f"{what:22} {memory:8} before {before:22} after {after:22} "
              f"{(statistics.median(pair[1]) / statistics.median(pair[0]) - 1) * 100:+.1f} %")


if __name__ == "__main__":
    main()
