#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes jobs with a fault (bench_ranks) and holds what `stormlog ranks` names as the first cause against the truth.

usage: score.py BUILD [--seeds 1,2,3] [--ranks 32] [--steps 240] [--faults NAME,...] [--least 0.95]

Right is: the rank, the kind of fault, for memory the step (within 5 % of all steps, at least 3), and for a leak the line. Of a
healthy job: no cause. Exits with 1 below --least, or when a healthy job has a cause.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile


def run_case(build, name, seed, ranks, steps):
    """(truth, answer of the program) of one made-up job."""
    folder = tempfile.mkdtemp(prefix="stormlog-ranks-")
    try:
        made = subprocess.run([f"{build}/bench/bench_ranks", folder, name, str(seed), str(ranks), str(steps), str(12 * steps)],
                              check=True, capture_output=True, text=True).stdout
        answer = subprocess.run([f"{build}/stormlog", "ranks", folder, "--format", "json"],
                                check=True, capture_output=True, text=True).stdout
    finally:
        shutil.rmtree(folder)
    return json.loads(made), json.loads(answer)


def what_is_wrong(truth, answer, steps):
    """"" when the answer is right."""
    cause = answer["first_cause"]
    if not truth["right"]:
        return "" if cause is None else f"a healthy job, but {answer['sentence']}"
    if cause is None:
        return "nothing was found"
    if cause["rank"] != truth["rank"]:
        return f"rank {cause['rank']}, not {truth['rank']}: {answer['sentence']}"
    if cause["fault"] not in truth["right"].split(","):
        return f"{cause['fault']}, not {truth['right']}: {answer['sentence']}"
    if truth["step"] >= 0 and abs(cause["step"] - truth["step"]) > max(3, steps // 20):
        return f"step {cause['step']}, not {truth['step']}: {answer['sentence']}"
    if truth["line"] and truth["line"] not in (cause["line"] or ""):
        return f"line {cause['line']}, not {truth['line']}"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--ranks", type=int, default=32)
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--faults", default="")
    parser.add_argument("--least", type=float, default=0.95)
    args = parser.parse_args()
    listed = subprocess.run([f"{args.build}/bench/bench_ranks", "list"], check=True, capture_output=True, text=True).stdout.split()
    names = args.faults.split(",") if args.faults else listed
    counts = {True: [0, 0], False: [0, 0]}  # is it a fault: right, all
    for seed in map(int, args.seeds.split(",")):
        for name in names:
            truth, answer = run_case(args.build, name, seed, args.ranks, args.steps)
            wrong = what_is_wrong(truth, answer, args.steps)
            counts[bool(truth["right"])][0] += not wrong
            counts[bool(truth["right"])][1] += 1
            if wrong:
                print(f"wrong  seed {seed}  {name}: {wrong}")
    (right, all_faults), (quiet, healthy) = counts[True], counts[False]
    print(f"seeds {args.seeds}, {args.ranks} ranks, {args.steps} steps: first cause right in {right} of {all_faults} faults; "
          f"none named in {quiet} of {healthy} healthy jobs")
    sys.exit(right < args.least * all_faults or quiet < healthy)


if __name__ == "__main__":
    main()
