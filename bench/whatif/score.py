#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How exact the replay of PyTorch's allocator is: against recorded addresses, and against torch's own allocator.

Arguments: the program bench_whatif, and folders with snapshots. Prints tables; exits with 1 when a promise is broken.
The measured rows are tests/data/whatif/raw_alloc.jsonl.xz: each is one replay of a snapshot's calls through torch 2.11's own
allocator on an H200 (torch._C._cuda_cudaCachingAllocator_raw_alloc).
"""

import json
import lzma
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
ROWS = ROOT / "tests/data/whatif/raw_alloc.jsonl.xz"
FOLDERS = [ROOT / "tests/data/h200", ROOT / "tests/data/corpus"]
# A snapshot of the rows that is not in the tree: a public file without a licence.
ABSENT = {"kk_fullstep.pickle.gz"}
# The limit of rows with a garbage_collection_threshold and no limit of their own: 2 % of the card.
GC_LIMIT = int(0.02 * 150_109_880_320)


def answers(program: str, path: Path, rows: list[dict]) -> list[list[int]]:
    """The model's result for each row: peak, end, allocated peak, first failure or -1, driver calls, calls."""
    lines = []
    for row in rows:
        limit = row["limit_bytes"] or (GC_LIMIT if "garbage" in row["conf"] else 0)
        lines.append(f"{row['conf']}\t{limit}\n")
    done = subprocess.run([program, "--oracle", str(path)], input="".join(lines), capture_output=True, text=True, check=True)
    return [[int(field) for field in line.split("\t")] for line in done.stdout.splitlines()]


class Proof(NamedTuple):
    """One device of one snapshot, replayed under the settings it was recorded with."""

    name: str
    device: int
    events: int
    same: int
    placed: int
    same_reserved: int
    reserved: int
    recorded_peak: int
    peak: int
    not_released: int
    first_wrong: int


def proofs(program: str, folders: list[Path]) -> list[Proof]:
    files = sorted(str(path) for folder in folders for path in folder.glob("*.gz"))
    done = subprocess.run([program, "--proof", *files], capture_output=True, text=True, check=True)
    return [Proof(fields[0], *map(int, fields[1:])) for fields in (line.split("\t") for line in done.stdout.splitlines())]


def measured_rows() -> dict[str, list[dict]]:
    by_file: dict[str, list[dict]] = defaultdict(list)
    with lzma.open(ROWS, "rt") as rows:
        for line in rows:
            row = json.loads(line)
            by_file[row["file"]].append(row)
    return by_file


class Tally:
    """Counts for one setting."""

    def __init__(self) -> None:
        self.rows = self.exact = self.close = self.limited = self.same_fit = self.same_call = 0


def compare(program: str, by_file: dict[str, list[dict]], folders: list[Path]) -> tuple[dict[str, Tally], list[str]]:
    tallies: dict[str, Tally] = defaultdict(Tally)
    wrong = []
    for name, rows in sorted(by_file.items()):
        path = next((folder / name for folder in folders if (folder / name).exists()), None)
        if path is None:
            if name not in ABSENT:
                raise SystemExit(f"{name}: in none of the folders")
            continue
        for row, (peak, end, _, failed, _, _) in zip(rows, answers(program, path, rows), strict=True):
            tally = tallies[row["conf"]]
            oom = -1 if row["first_oom"] is None else row["first_oom"]
            detail = f"{name} {row['conf']!r} limit {row['limit_bytes']}: peak {peak} for {row['reserved_peak']}, failed {failed} for {oom}"
            if row["limit_bytes"] is None:
                off = abs(peak - row["reserved_peak"]) / row["reserved_peak"]
                tally.rows += 1
                tally.exact += off == 0
                tally.close += off <= 0.005
                if off > 0:
                    wrong.append(f"{detail} ({100 * (peak / row['reserved_peak'] - 1):+.2f} %) end {end} for {row['reserved_end']}")
            else:
                tally.limited += 1
                tally.same_fit += (failed < 0) == (oom < 0)
                tally.same_call += failed == oom
                if failed != oom:
                    wrong.append(detail)
    return tallies, wrong


def print_proofs(rows: list[Proof]) -> bool:
    wrong = [row for row in rows if row.same != row.placed or row.peak != row.recorded_peak or row.same_reserved != row.reserved]
    for row in wrong:
        print(f"differs: {row.name} device {row.device}: {row.same} of {row.placed} addresses, peak {row.peak} for {row.recorded_peak}")
    same, placed = sum(row.same for row in rows), sum(row.placed for row in rows)
    print(f"addresses: {same:,} of {placed:,} the same, in {len(rows)} traces; "
          f"{len(rows) - len(wrong)} of them with the same reserved curve\n")
    return not wrong


def print_tallies(tallies: dict[str, Tally], wrong: list[str]) -> bool:
    print(f"{'setting':36} {'rows':>5} {'exact':>6} {'0.5 %':>6}   {'limited':>7} {'same fit':>8} {'same call':>9}")
    total = Tally()
    for conf, t in sorted(tallies.items()):
        print(f"{conf or '(defaults)':36} {t.rows:5} {t.exact:6} {t.close:6}   {t.limited:7} {t.same_fit:8} {t.same_call:9}")
        for field in vars(total):
            setattr(total, field, getattr(total, field) + getattr(t, field))
    print(f"{'all':36} {total.rows:5} {total.exact:6} {total.close:6}   {total.limited:7} {total.same_fit:8} {total.same_call:9}")
    for line in wrong:
        print("differs:", line)
    return total.close >= 0.99 * total.rows and total.same_fit >= 0.98 * total.limited


def main() -> int:
    program, more = sys.argv[1], [Path(arg) for arg in sys.argv[2:]]
    is_proven = print_proofs(proofs(program, FOLDERS + more))
    is_exact = print_tallies(*compare(program, measured_rows(), FOLDERS + more))
    return 0 if is_proven and is_exact else 1


if __name__ == "__main__":
    sys.exit(main())
