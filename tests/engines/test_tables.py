# SPDX-License-Identifier: MIT
"""`stormlog export --to csv|jsonl`: sums against the report, names that are hostile, and the queries of docs/tables.md by SQLite."""

import csv
import io
import json
import os
import sqlite3
import sys
from collections import defaultdict
from pathlib import Path

import tap

MAKE_RANK = os.path.abspath(sys.argv.pop(2))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

import queries  # noqa: E402
from cli import DATA, good, stormlog  # noqa: E402

INPUTS = [DATA / "h200/s1_loss_history.pickle.gz", DATA / "h200/s5_oom.pickle.gz", DATA / "slog/leak.slog.xz",
          DATA / "slog/nccl.slog.xz", DATA / "corpus/x1_state_mode.pickle.gz"]


def rows_of(*arguments):
    """The table, read from JSON lines."""
    return [json.loads(line) for line in good("export", *arguments, "--to", "jsonl").splitlines()]


def cells_of(*arguments):
    return list(csv.DictReader(io.StringIO(good("export", *arguments, "--to", "csv"))))


def load(rows):
    base = sqlite3.connect(":memory:")
    names = list(rows[0])
    base.execute(f"CREATE TABLE steps ({', '.join(names)})")
    base.executemany(f"INSERT INTO steps VALUES ({', '.join('?' * len(names))})", [list(row.values()) for row in rows])
    return base


@tap.test("figures of the table add up to those of the report, in every part")
def _():
    for path in INPUTS:
        report = json.loads(good("analyze", path, "--format", "json"))
        rows = rows_of(path)
        for device in report["devices"]:
            mine = [row for row in rows if row["device"] == device["device"]]
            parts = defaultdict(lambda: defaultdict(int))
            for row in mine:
                for name in ("peak_bytes", "live_bytes", "allocations"):
                    parts[(row["part"], row["step"])][name] += row[name] or 0
            what = f"{path.name}, device {device['device']}"
            tap.equal(max(part["peak_bytes"] for part in parts.values()), device["peak_requested_bytes"] or 0, f"{what}: peak")
            tap.equal(any(row["peak_bytes"] is None for row in mine), device["peak_requested_bytes"] is None, f"{what}: unknown")
            tap.equal(list(parts.values())[-1]["live_bytes"], device["live_requested_bytes"], f"{what}: live at the end")
            tap.equal(sum(part["allocations"] for part in parts.values()), device["allocs"], f"{what}: allocations")
            tap.equal(sum(key[0] == "step" for key in parts), device["steps"] or 0, f"{what}: steps")


@tap.test("CSV and JSON lines hold the same rows; unknown is an empty cell and null")
def _():
    for path in INPUTS:
        rows, cells = rows_of(path), cells_of(path)
        tap.equal(len(rows), len(cells), f"rows of {path.name}")
        for row, cell in zip(rows, cells):
            tap.equal({key: "" if value is None else str(value) for key, value in row.items()}, dict(cell), path.name)


@tap.test("a folder of ranks is one table with one header, in both formats, and -o is written whole")
def _(folder):
    run = queries.make_run(MAKE_RANK, Path(folder) / "job", queries.LEAKING)
    out = Path(folder) / "steps.csv"
    good("export", run, "--to", "csv", "-o", out)
    text = out.read_text()
    tap.equal(text.count("peak_bytes,"), 1, "headers")
    rows = rows_of(run)
    tap.equal(sorted({row["rank"] for row in rows}), list(range(queries.WORLD)), "ranks")
    tap.equal({(row["run"], row["job"], row["role"], row["host"], row["world_size"]) for row in rows},
              {("job", "job-7", "rank", "node-0", queries.WORLD)}, "identity")
    tap.equal(sorted({row["step"] for row in rows if row["part"] == "step"}), list(range(queries.STEPS)), "steps")
    tap.equal(len(text.splitlines()) - 1, len(rows), "rows of both formats")


@tap.test("the queries of docs/tables.md give the known answers")
def _(folder):
    runs = queries.make_runs(MAKE_RANK, folder)
    both, after = load(rows_of(*runs)), load(rows_of(runs[1]))
    texts = queries.sql()
    tap.equal(len(texts), len(queries.ANSWERS), "queries in the document")
    for text, answer, takes_both in zip(texts, queries.ANSWERS, queries.BOTH):
        found = queries.normal((both if takes_both else after).execute(text).fetchall())
        tap.equal(found, answer, text)


@tap.test("a damaged recording of a folder is named and skipped; alone it is an error; telemetry is refused")
def _(folder):
    run = queries.make_run(MAKE_RANK, Path(folder) / "job", None)
    bad = run / "python3-101.slog"
    bad.write_bytes(bad.read_bytes()[:5000])
    done = stormlog("export", run, "--to", "csv")
    tap.equal(done.returncode, 0, f"exit code; {done.stderr}")
    tap.contains(done.stderr, "python3-101.slog")
    tap.equal({row["rank"] for row in csv.DictReader(io.StringIO(done.stdout))}, {"0", "2", "3"}, "ranks")
    tap.equal(stormlog("export", bad, "--to", "csv").returncode, 3, "alone")
    out = Path(folder) / "t.csv"
    done = stormlog("export", DATA / "peer/leaky/events.json", "--to", "csv", "-o", out)
    tap.equal((done.returncode, out.exists()), (3, False), "telemetry")
    tap.contains(done.stderr, "no allocations")
    tap.equal(stormlog("export", run, run, "--to", "folded").returncode, 2, "two PATHs for another format")


@tap.test("names with commas, quotes, line ends, formulas and bytes that are not UTF-8 keep to their cells")
def _(folder):
    for prefix in ('a,"b"', "two\nlines\r", "=cmd()", b"\xff\xfe".decode("utf-8", "surrogateescape"), "\u202eback"):
        run = queries.make_run(MAKE_RANK, Path(folder) / f"job{abs(hash(prefix))}", None, world=1, prefix=prefix)
        text = good("export", run, "--to", "csv")
        cells = list(csv.reader(io.StringIO(text)))
        tap.equal({len(row) for row in cells}, {23}, f"cells per row with {prefix!r}")
        tap.equal(len(text.splitlines()), len(cells), f"lines with {prefix!r}")
        kept = {row["file"] for row in rows_of(run)}
        tap.equal(len(kept), 1, "one file")
        clean = "".join("\ufffd" if ord(c) < 32 or 0xd800 <= ord(c) < 0xe000 or c == "\u202e" else c for c in prefix)
        tap.equal(kept, {clean + queries.FILE}, f"file with {prefix!r}")


@tap.test("steps whose events have left the ring keep their numbers for the others")
def _(folder):
    path, steps = Path(folder) / "long.slog", 80000
    tap.run([MAKE_RANK, path, "0", "1", str(steps), str(steps)], check=True)
    steps_of = defaultdict(int)
    for row in cells_of(path):
        if row["part"] == "step":
            steps_of[int(row["step"])] += int(row["peak_bytes"])
    numbers = sorted(steps_of)
    tap.equal((numbers[-1], 100 < len(numbers) < steps), (steps - 1, True), f"the last step, and {len(numbers)} steps")
    tap.equal({steps_of[number] for number in numbers[-100:]}, {16 * queries.MIB}, "peaks")
    tap.equal(numbers[-100:], list(range(steps - 100, steps)), "the last numbers")


@tap.test("--device and the window choose rows; a device that no input has is an error")
def _(folder):
    run = queries.make_run(MAKE_RANK, Path(folder) / "job", None)
    tap.equal(len(rows_of(run, "--device", "0")), len(rows_of(run)), "rows of device 0")
    tap.equal(stormlog("export", run, "--to", "csv", "--device", "5").returncode, 2, "no such device")
    tap.true(0 < len(rows_of(run, "--since", "step:10")) < len(rows_of(run)), "a window has fewer rows")


tap.main()
