#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lead time, precision and recall of the forecast "out of memory in ...". Argument: the bench_forecast program.

A run is asked some 240 times while it goes on. A leak counts as forecast when a forecast was there before memory was out. Lead: from
the first forecast to the end, in seconds and as a share of the time from the beginning of the growth to the end. Error: of that
first forecast, as a share of what was left. A healthy run in which anything was ever said is a false alarm.
"""
import glob
import json
import math
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEEDS = 48
NAMES = ("name", "is_leak", "end_s", "start_s", "at_s", "value", "low", "high", "asked", "forecasts", "in_range")


def labelled_runs():
    """Arguments for the program: 1=FILE for a leak, 0=FILE for a healthy run; failures of other causes are neither."""
    arguments = []
    for folder in ("h200", "corpus"):
        for path in sorted(glob.glob(f"{ROOT}/tests/data/{folder}/*.truth.json")):
            truth = json.load(open(path))
            data = path.replace(".truth.json", ".pickle.gz")
            is_leak = truth["verdict"] == "leak" or truth.get("oom_cause") == "leak"
            if os.path.exists(data) and (is_leak or truth["verdict"] in ("healthy", "spike")):
                arguments.append(f"{int(is_leak)}={data}")
    return arguments


def ask(program, *arguments):
    out = subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout
    rows = []
    for line in out.splitlines():
        row = dict(zip(NAMES, line.split("\t")))
        rows.append({k: v if k == "name" else float(v) for k, v in row.items()})
    return rows


def spread(values, form="{:.0f}"):
    """Median and the middle 80 %."""
    values = sorted(values)
    low, high = values[len(values) // 10], values[-1 - len(values) // 10]
    return f"{form} ({form} to {form})".format(statistics.median(values), low, high)


def show(title, rows, verbose):
    leaks = [r for r in rows if r["is_leak"] and math.isfinite(r["end_s"])]
    healthy = [r for r in rows if not r["is_leak"]]
    found = [r for r in leaks if r["forecasts"]]
    false = [r for r in healthy if r["forecasts"]]
    print(f"{title}: {len(leaks)} runs out of memory, {len(healthy)} healthy")
    print(f"  recall {len(found)}/{len(leaks)}, false alarms {len(false)}/{len(healthy)},"
          f" precision {len(found) / max(1, len(found) + len(false)):.3f}")
    if found:
        lead = [r["end_s"] - r["at_s"] for r in found]
        share = [100 * (r["end_s"] - r["at_s"]) / (r["end_s"] - r["start_s"]) for r in found]
        error = [100 * (r["value"] / (r["end_s"] - r["at_s"]) - 1) for r in found]
        print(f"  lead, s: {spread(lead, '{:.3g}')}; of the growth's time, %: {spread(share)}")
        print(f"  error of the first forecast, %: {spread(error)}; its range was right in"
              f" {sum(r['low'] <= r['end_s'] - r['at_s'] <= r['high'] for r in found)}/{len(found)};"
              f" all forecasts: {sum(r['in_range'] for r in found):.0f}/{sum(r['forecasts'] for r in found):.0f}")
    for kind, list_ in (("missed", [r for r in leaks if not r["forecasts"]]), ("false alarm", false)):
        names = sorted({r["name"].rsplit("/", 1)[0] if not verbose else r["name"] for r in list_})
        if names:
            print(f"  {kind}: {', '.join(names)}")
    return not false


def main():
    program, verbose = sys.argv[1], "-v" in sys.argv
    ok = show("recorded on the H200 (limits set on the way)", ask(program, *labelled_runs()), verbose)
    ok &= show("made-up traces", ask(program, "--synthetic", "12"), verbose)
    ok &= show("made-up curves", ask(program, "--curves", str(SEEDS)), verbose)
    _, points, us = subprocess.run([program, "--speed", "4000"], capture_output=True, text=True, check=True).stdout.split()
    print(f"one forecast from {points} points: {float(us):.0f} us")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
