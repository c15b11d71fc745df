# SPDX-License-Identifier: MIT
"""Two recorders in one process. The modes are made in hostile_run.py: twice (LD_PRELOAD names two copies of the library),
nested (`stormlog run` inside `stormlog run`), both (preloaded, and record() called), second (preloaded, and a second copy is
loaded and started), apisecond (started from inside, and a second copy is started)."""

import glob
import os

import slog_totals
import tap
from hostile_run import Case, Outcome


def no_double_counts(found: Outcome) -> None:
    """No recording has more live blocks than the program held; an event counted twice would be found here."""
    paths = sorted(glob.glob(os.path.join(glob.escape(found.run), "**", "*.slog"), recursive=True))
    tap.true(paths, "somebody records")
    for path in paths:
        totals = slog_totals.load(path)
        live = totals.sum("live_bytes")
        tap.true(live <= 100000 * 512, f"{live} bytes are live in {os.path.basename(path)}, the program held {100000 * 512}")
        tap.equal(totals.health["double_alloc"], 0, f"blocks allocated twice in {os.path.basename(path)}")


PACKAGE = """
from hostile_events import begin, churn, hold, record, say
churn(10)
first, second = record(), record()
hold(100000)
second.stop()
churn(100)
first.stop()
first.stop()
churn(100)
say("goes on")
"""

CASES = [
    Case("linked program", "a program that is linked with torch is recorded, too, however it is started", ["hostile_linked"], exit=7,
         allocs=100000, check=no_double_counts),
    Case("two preloaded", "two copies of the recorder in LD_PRELOAD count every event once", ["hostile_two"], modes=("twice",), exit=7,
         allocs=100000, timeout_s=30, check=no_double_counts),
    Case("nested runs", "stormlog run inside stormlog run counts every event once", ["hostile_two"], modes=("nested",), exit=7, allocs=None,
         check=no_double_counts),
    Case("run and record()", "record() under stormlog run uses the recording of the run", PACKAGE, modes=("both",),
         allocs=100000),
    Case("record() twice", "record() during a recording counts every event once", PACKAGE, modes=("api",), allocs=100000),
    *[Case(f"second copy {how}", f"a second copy of the recorder is loaded {how} and started", ["hostile_two", how],
           modes=("second", "apisecond"), exit=7, allocs=100000, check=no_double_counts) for how in ("local", "deepbind")],
]
