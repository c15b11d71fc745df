# SPDX-License-Identifier: MIT
"""Repairs of the program: against programs that were repaired and run again, and on labelled runs. test_repairs.py STORMLOG."""

import json
import re
import sys
from pathlib import Path

import tap

stormlog = sys.argv.pop(1)
DATA = Path(__file__).resolve().parents[2] / "tests/data"
PAIRS = DATA / "whatif/repairs"


def answer(path, *options):
    result = tap.run([stormlog, "whatif", "--format", "json", "--set", "no_caching=True", *options, str(path)])
    tap.equal(result.returncode, 0, f"exit code for {path.name} {options}: {result.stderr}")
    return json.loads(result.stdout)["answers"][0]


def pairs():
    return {pair["name"]: pair for pair in json.loads((PAIRS / "peaks.json").read_text())["pairs"]}


@tap.test("the predicted reserved peak equals that of the repaired program exactly")
def _():
    for name, pair in pairs().items():
        own = answer(PAIRS / f"{name}.pickle.gz", "--quick", *pair["options"])
        tap.equal(own["proof"]["recorded_peak_bytes"], pair["flawed"], f"recorded peak of {name}")
        tap.equal(own["rows"][0]["reserved_peak_bytes"], pair["repaired"], f"{pair['options']} of {name}: {pair['flaw']}")


@tap.test("a program with its leak fixed reserves the same as one that never leaked")
def _():
    truth = json.loads((DATA / "h200/s4_fixed.truth.json").read_text())["memory_stats"]
    for option in ("--free", "--without"):
        own = answer(DATA / "h200/s2_retention.pickle.gz", "--quick", option, "observe")
        tap.equal(own["rows"][0]["reserved_peak_bytes"], truth["reserved_bytes.all.peak"], f"{option} observe")


@tap.test("the list names the line, its repair and the figures that the option of that repair gives")
def _():
    for name, repair, source in (("feat", "leak", "k=x.detach"), ("rec", "record_stream", "b=t.ones")):
        pair = pairs()[name]
        lines = answer(PAIRS / f"{name}.pickle.gz", "--placements", "2")["lines"]
        best = lines["best"][0]
        text = (PAIRS / "program.py").read_text().splitlines()[best["site"]["line"] - 1]
        tap.equal((best["repair"], source in text), (repair, True), f"first of the list for {name}: {text}")
        tap.equal(best["reserved_peak_bytes"], pair["repaired"], f"reserved peak after the repair of {name}")
        tap.equal(best["saves_bytes"], pair["flawed"] - pair["repaired"], f"savings for {name}")


@tap.test("all lines together give the figures of --early, --no-record-stream and --one-stream")
def _():
    options = {"early": "--early", "record_stream": "--no-record-stream", "stream": "--one-stream"}
    for path in (PAIRS / "rec.pickle.gz", PAIRS / "copy.pickle.gz", DATA / "corpus/c40_record_stream.pickle.gz"):
        both = {row["repair"]: row["reserved_peak_bytes"] for row in answer(path, "--placements", "1")["lines"]["all"]}
        tap.equal({"early", "stream"} <= set(both), True, f"repairs of all lines in {path.name}: {sorted(both)}")
        for repair, option in ((r, o) for r, o in options.items() if r in both):
            own = answer(path, "--quick", "--placements", "1", option)
            tap.equal(own["rows"][0]["reserved_peak_bytes"], both[repair], f"{option} for {path.name}")


def labelled():
    for truth in sorted([*(DATA / "corpus").glob("*.truth.json"), *(DATA / "h200").glob("*.truth.json")]):
        snapshots = list(truth.parent.glob(truth.name.removesuffix(".truth.json") + ".*.gz"))
        facts = json.loads(truth.read_text())
        if snapshots and facts.get("verdict") in ("healthy", "leak"):
            yield snapshots[0], facts


@tap.test("healthy runs have no leak to fix, and leaking runs have those of their labels")
def _():
    found = 0
    for path, facts in labelled():
        best = answer(path, "--placements", "1")["lines"]["best"]
        leaks = [row["site"] for row in best if row["repair"] == "leak"]
        if facts["verdict"] == "healthy":
            tap.equal(leaks, [], f"leaks in the healthy run {path.name}")
        found += bool(leaks)
    tap.equal(found >= 10, True, f"leaking runs whose leak is in the list: {found}")


@tap.test("blocks that an exception frees after the failed request count as leaked until then")
def _():
    lines = answer(DATA / "slog/oom.slog.xz", "--placements", "1")["lines"]
    best = lines["best"][0]
    tap.equal((best["repair"], best["site"]["function"], best["fits"]), ("leak", "remember", True), f"first of the list: {best}")


@tap.test("the same input always gives the same answer")
def _():
    args = [stormlog, "whatif", "--set", "expandable_segments=True", str(PAIRS / "rec.pickle.gz")]
    tap.equal(tap.run(args).stdout, tap.run(args).stdout, "two answers")


@tap.test("a filter that matches nothing is an error that names the nearest line")
def _():
    for option in ("--free", "--without"):
        result = tap.run([stormlog, "whatif", option, "nosuchline", str(PAIRS / "feat.pickle.gz")])
        tap.equal((result.returncode, bool(re.search("nosuchline", result.stderr))), (2, True), result.stderr)


tap.main()
