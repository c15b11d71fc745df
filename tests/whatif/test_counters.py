# SPDX-License-Identifier: MIT
"""The replay makes the same decisions as torch, judged by torch's own counters: test_counters.py STORMLOG."""

import json
import sys
from pathlib import Path

import tap

stormlog = sys.argv.pop(1)
CORPUS = Path(__file__).resolve().parents[2] / "tests/data/corpus"
# Their traces begin in the middle of a run, the counters with it.
LATE = {"x2_overflow", "x5_late_start"}


def recorded_row(path):
    """The first row, which is the replay under the recorded settings and the limit that the trace shows."""
    args = ["whatif", "--quick", "--format", "json", "--placements", "1", "--set", "no_caching=True", str(path)]
    result = tap.run([stormlog, *args])
    tap.equal(result.returncode, 0, f"exit code for {path.name}: {result.stderr}")
    return json.loads(result.stdout)["answers"][0]["rows"][0]


def counters():
    for truth in sorted(CORPUS.glob("*.truth.json")):
        name = truth.name.removesuffix(".truth.json")
        stats = json.loads(truth.read_text()).get("memory_stats") or {}
        snapshots = list(CORPUS.glob(f"{name}.*.gz"))
        if "num_alloc_retries" in stats and snapshots and name not in LATE | {"x1_state_mode"}:
            yield snapshots[0], stats


@tap.test("retries, driver calls and the reserved peak equal those of memory_stats()")
def _():
    rows = list(counters())
    tap.equal(len(rows) >= 59, True, "snapshots with counters")
    for path, stats in rows:
        row = recorded_row(path)
        for ours, theirs in (("retries", "num_alloc_retries"), ("driver_allocs", "num_device_alloc"),
                             ("driver_frees", "num_device_free"), ("reserved_peak_bytes", "reserved_bytes.all.peak")):
            tap.equal(row[ours], stats[theirs], f"{ours} of {path.name}")


tap.main()
