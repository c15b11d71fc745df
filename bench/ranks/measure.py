#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Time, memory and answer of `stormlog ranks` on one fleet, five times. usage: measure.py BUILD FOLDER TRUTH"""

import json
import os
import statistics
import subprocess
import sys
import time


def measure(build, folder):
    """(seconds, MiB resident, answer, seconds of processor time)"""
    begun = time.monotonic()
    with subprocess.Popen([f"{build}/stormlog", "ranks", folder, "--format", "json"], stdout=subprocess.PIPE) as process:
        answer = json.loads(process.stdout.read())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"stormlog ranks ended with {process.returncode}")
    return time.monotonic() - begun, usage.ru_maxrss / 1024, answer, usage.ru_utime + usage.ru_stime


def main():
    build, folder, truth_path = sys.argv[1:]
    with open(truth_path, encoding="utf-8") as file:
        truth = json.load(file)
    runs = [measure(build, folder) for _ in range(5)]
    seconds, memory = [run[0] for run in runs], max(run[1] for run in runs)
    answer, bytes_read = runs[0][2], sum(entry.stat().st_size for entry in os.scandir(folder))
    print(f"{answer['ranks_read']} ranks, {truth['events']:,} events, {bytes_read / 2**20:,.0f} MiB: "
          f"{statistics.median(seconds):.2f} s (first {seconds[0]:.2f}, others {min(seconds[1:]):.2f} to {max(seconds[1:]):.2f}), "
          f"{statistics.median(run[3] for run in runs):.2f} s of processor time, {memory:,.0f} MiB resident, "
          f"{len(os.sched_getaffinity(0))} processors")
    print(f"  {answer['sentence']}")
    print(f"  the truth: {truth['fault']} on rank {truth['rank']} at step {truth['step']}, {truth['line']}")


if __name__ == "__main__":
    main()
