# SPDX-License-Identifier: MIT
"""Workspaces of cuBLAS and cuDNN are recognised by who calls the allocator. Arguments: the program, the folder of the fakes."""

import json
import os
import platform
import sys

import tap

stormlog, fakes = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workspace_program.py")
MIB = 1 << 20


TRUST_AGAIN = 16  # SL_WORKSPACE_AGAIN of src/record/training/workspace_watch.h


def record(folder, *arguments):
    """The recording's path, and its allocations."""
    if platform.machine() != "x86_64":
        tap.skip("native frames are walked on x86-64 only")
    out = os.path.join(folder, "run")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STORMLOG_")}
    result = tap.run([stormlog, "run", "-q", "-o", out, "--", "/usr/bin/python3", PROGRAM, fakes, *arguments],
                     env={**clean, "LD_LIBRARY_PATH": fakes})
    tap.equal(result.returncode, 0, result.stderr)
    path = os.path.join(out, next(name for name in os.listdir(out) if name.endswith(".slog")))
    lines = tap.run([stormlog, "cat", "--format", "json", path]).stdout.splitlines()
    return path, [event for event in map(json.loads, lines) if event["kind"] == "alloc"]


@tap.test("memory that libtorch_cuda requests itself is tagged as workspace, and tensors are not")
def _(folder):
    path, allocs = record(folder)
    found = [event["size"] // MIB for event in allocs if event["tag"] == "workspace"]
    tap.equal(found, [32] + [1, 2] * 10 + list(range(4, 14)) + [32], "workspaces in MiB, in order")
    tap.equal(sum(event["size"] >= MIB and event["tag"] is None for event in allocs), 6 + 20 + 1 + 40 + 1 + 1, "tensors")
    report = json.loads(tap.run([stormlog, "analyze", "--format", "json", path]).stdout)
    device = next(row for row in report["devices"] if row["device"] == 0)
    rows = {row["tag"]: (row["bytes"], row["blocks"]) for row in device["live_by_tag"]}
    tap.equal(rows["workspace"], (sum(found) * MIB, len(found)), f"a row of its own: {rows}")


@tap.test("a line that allocated only workspaces is checked again soon, so later tensors of that size are recognised")
def _(folder):
    tags = [event["tag"] for event in record(folder, "mixed")[1] if event["size"] == 7 * MIB]
    tap.equal(tags[:40], ["workspace"] * 40, "workspaces only")
    wrong = tags[40:80].index(None)
    tap.true(wrong <= TRUST_AGAIN, f"tensors taken for workspaces: {wrong}")
    tap.equal(tags[40 + wrong:80], [None] * (40 - wrong), "from the first tensor that was looked at")
    tap.equal(tags[80:], [None, "workspace"] * 20, "then both are told apart each time")


tap.main()
