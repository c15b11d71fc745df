# SPDX-License-Identifier: MIT
"""The allocator's model is exact: test_exact.py PROBE. The figures are those of bench/whatif."""

import sys
from pathlib import Path

import tap

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/whatif"))
import score  # noqa: E402

probe = sys.argv.pop(1)


@tap.test("the replay puts every block of every snapshot at its recorded address")
def _():
    rows = score.proofs(probe, score.FOLDERS)
    tap.equal(len(rows) > 60, True, "devices with a history")
    for row in rows:
        tap.equal(row.same, row.placed, f"addresses in {row.name}")
        tap.equal(row.same_reserved, row.reserved, f"reserved bytes in {row.name}")
        tap.equal(row.peak, row.recorded_peak, f"reserved peak of {row.name}")


@tap.test("reserved peaks and failing calls equal those of torch's own allocator")
def _():
    tallies, wrong = score.compare(probe, score.measured_rows(), score.FOLDERS)
    tap.equal(wrong, [], "rows that differ")
    tap.equal(sum(t.rows + t.limited for t in tallies.values()) > 1000, True, "rows compared")


tap.main()
