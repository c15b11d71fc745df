# SPDX-License-Identifier: MIT
"""Snapshots with absurd sizes and addresses: an answer, a refusal or one line of error, never a loop. test_hostile.py STORMLOG."""

import pickle
import random
import sys
import tempfile
from pathlib import Path

import tap

stormlog = sys.argv.pop(1)
PIB = 1 << 50
TOP = 1 << 64
ACTIONS = ["alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "oom"]
BATCH = ["--batch", "1=$PATH", "--batch", "3=$PATH", "--at", "2,7", "--card", "1GiB"]
OPTIONS = [[], BATCH, ["--card", "1MiB"], ["--card", "1000TiB", "--set", "expandable_segments=True"],
           ["--one-stream", "--free", "."], ["--early"]]


def event(action, addr, size, time, line=5):
    frames = [{"filename": "/home/user/train.py", "line": line, "name": "step"}]
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": time, "frames": frames}


def growing(cnt, size, segment="segment_alloc"):
    for i in range(cnt):
        addr = ((1 << 40) + i * size) % (1 << 63)
        yield event(segment, addr, size, 2 * i)
        yield event("alloc", addr, size, 2 * i + 1, 5 + i % 3)


def wrapping():
    for i in range(50):
        for action, addr, size in (("segment_alloc", TOP - 4096, 1 << 40), ("alloc", TOP - 4096, 1 << 40), ("alloc", TOP - 1, PIB),
                                   ("free_requested", TOP - 1, PIB), ("free_completed", TOP - 1, PIB), ("alloc", 0, 1)):
            yield event(action, addr, size, i)


def random_events(sizes):
    draw = random.Random(1)
    for i in range(5000):
        yield event(draw.choice(ACTIONS), draw.choice([0, 512, 1 << 20, 1 << 63, TOP - 512]), draw.choice(sizes), i, i % 4)


TRACES = {
    "petabytes": lambda: growing(1000, PIB),
    "petabytes, mapped": lambda: growing(1000, PIB, "segment_map"),
    "a petabyte that fails": lambda: [*growing(100, PIB), event("oom", 5, PIB, 1000)],
    "more than all memory": lambda: growing(5000, PIB),
    "beyond the address space": wrapping,
    "no bytes": lambda: growing(3000, 0),
    "anything": lambda: random_events([0, 1, 512, 1 << 20, 1 << 49]),
    "small and anything": lambda: random_events([1, 512, 3 << 20]),
}


@tap.test("absurd traces are finished or refused, with at most one line of error")
def _():
    with tempfile.TemporaryDirectory() as folder:
        for name, events in TRACES.items():
            path = Path(folder, "trace.pickle")
            path.write_bytes(pickle.dumps({"segments": [], "device_traces": [list(events())]}, protocol=4))
            for options in OPTIONS:
                given = [option.replace("$PATH", str(path)) for option in options] if options is BATCH else [str(path), *options]
                result = tap.run([stormlog, "whatif", *given])
                tap.equal(result.returncode in (0, 2, 3), True, f"exit code {result.returncode} of '{name}' {options}: {result.stderr}")
                tap.equal(len(result.stderr.splitlines()) <= 1, True, f"one line of error for '{name}' {options}: {result.stderr}")
                tap.equal(bool(result.stdout) or bool(result.stderr), True, f"something is said about '{name}' {options}")


tap.main()
