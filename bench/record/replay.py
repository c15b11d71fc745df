#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What --replay adds to the cost of an event: processes without the recorder, with it, and with PyTorch's own trace, all at the
same time on separate processors, on a real card. Each block of events is between two blocks of plain Python calls, and its time
is expressed in such calls, so that the speed of the processor cancels out. Arguments: build folder, processes of each kind."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PYTHON = os.environ.get("STORMLOG_TORCH_PYTHON", sys.executable)
MODES = ("none", "today", "trace")
DEPTH = 20  # Python frames above the allocation
SIZES = (512, 100, 3 << 20)


def deep(depth, work):
    return work() if depth == 0 else deep(depth - 1, work)


def plain_calls():
    """ns per call of a function that does almost nothing."""
    start = time.perf_counter_ns()
    for _ in range(500):
        numbers = [abs(number) for number in range(10)]
        for number in numbers:
            abs(number)
    return (time.perf_counter_ns() - start) / 10000


def measure_loop(torch, size):
    """The cost of an alloc or free through the allocator's own functions, in plain calls and in ns."""
    alloc, free = torch._C._cuda_cudaCachingAllocator_raw_alloc, torch._C._cuda_cudaCachingAllocator_raw_delete
    stream = torch.cuda.current_stream().cuda_stream

    def block():
        start = time.perf_counter_ns()
        for _ in range(500):
            blocks = [alloc(size, stream) for _ in range(10)]
            for address in blocks:
                free(address)
        return (time.perf_counter_ns() - start) / 10000

    deep(DEPTH, block)
    found = []
    for _ in range(60):
        before, cost, after = plain_calls(), deep(DEPTH, block), plain_calls()
        found.append((cost / ((before + after) / 2), cost))
    return sorted(found)[len(found) // 2]


def work():
    import torch
    torch.ones(1, device="cuda")
    print(json.dumps({f"{size} bytes": measure_loop(torch, size) for size in SIZES}))
    sys.stdout.flush()
    os._exit(0)


def start(build, mode, processor, folder):
    command = [PYTHON, os.path.abspath(__file__), "--work"]
    if mode != "none":
        options = ["--replay"] if mode == "trace" else []
        command = [os.path.join(build, "stormlog"), "run", "-q", "-o", folder, *options, "--", *command]
    return subprocess.Popen(["taskset", "-c", str(processor), *command], stdout=subprocess.PIPE, text=True)


def main():
    build, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 4
    with tempfile.TemporaryDirectory(prefix="stormlog-bench-") as folder:
        jobs = [(mode, start(build, mode, processor % os.cpu_count(), os.path.join(folder, str(processor))))
                for processor, mode in enumerate(MODES * rounds)]
        rows = [(mode, json.loads(job.communicate()[0])) for mode, job in jobs]
    print(f"{rounds} processes each, at the same time; medians, in plain calls of Python")
    print("| an alloc or free of | without | today | with the trace | today adds | with the trace | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for key in rows[0][1]:
        none, today, trace = (statistics.median(row[key][0] for mode, row in rows if mode == wanted) for wanted in MODES)
        print(f"| {key} | {none:.1f} | {today:.1f} | {trace:.1f} | {today - none:.1f} | {trace - none:.1f} | "
              f"{(trace - none) / (today - none):.2f} |")


if __name__ == "__main__":
    if sys.argv[1:] == ["--work"]:
        work()
    main()
