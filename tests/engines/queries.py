# SPDX-License-Identifier: MIT
"""The five queries of docs/tables.md, the runs they are asked about, and their answers."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
STEPS, LEAK_FROM, LEAKING = 20, 5, 2
WORLD = 4


def make_run(make_rank, folder, leaking, world=WORLD, prefix=""):
    """A run folder with one recording per rank; rank `leaking` keeps 1 MiB per step from step LEAK_FROM on."""
    folder.mkdir(parents=True)
    for rank in range(world):
        leak_from = LEAK_FROM if rank == leaking else STEPS
        subprocess.run([make_rank, folder / f"python3-{100 + rank}.slog", str(rank), str(world), str(STEPS), str(leak_from),
                        *([prefix] if prefix else [])], check=True, timeout=60)
    return folder


def make_runs(make_rank, folder):
    """Two runs: in 'before' no rank leaks, in 'after' one does."""
    return [make_run(make_rank, Path(folder) / "before", None), make_run(make_rank, Path(folder) / "after", LEAKING)]


def sql():
    """The queries, in the order of the document."""
    text = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    return re.findall(r"```sql\n(.*?)```", text, re.DOTALL)


FILE = "/home/user/train.py"
KEPT = (STEPS - LEAK_FROM) * MIB

# What each query gives for make_runs; the third and the others but the fourth for the run 'after' alone.
ANSWERS = [
    [(LEAKING, 0, 16 * MIB + KEPT, STEPS - 1), (0, 0, 16 * MIB, 0), (1, 0, 16 * MIB, 0), (3, 0, 16 * MIB, 0)],
    [(LEAKING, FILE, 33, KEPT)] + [(rank, FILE, line, 0) for rank in range(WORLD) for line in (11, 22)],
    [(LEAKING, LEAK_FROM)],
    [(FILE, 33, "remember", KEPT), (FILE, 11, "__init__", 0), (FILE, 22, "forward", 0)],
    [(FILE, 22, WORLD * 8 * MIB, WORLD * STEPS * 2)],
]
# Which queries are asked about both runs.
BOTH = [False, False, False, True, False]


def normal(rows):
    """Rows as engines give them: numbers may come as Decimal or float."""
    return [tuple(int(cell) if cell is not None and not isinstance(cell, str) else cell for cell in row) for row in rows]
