# SPDX-License-Identifier: MIT
"""stormlog.whatif: the answers of the command, its arguments, and what it raises."""

import json
import os
import subprocess
from pathlib import Path

import stormlog
import tap

STORMLOG = os.path.join(os.environ["STORMLOG_BUILD"], "stormlog")
DATA = Path(os.environ["STORMLOG_TEST_DATA"])
SAVES = DATA / "corpus/c39_one_long_sample.pickle.gz"
OOM = DATA / "corpus/c21_oom_fragmentation.pickle.gz"


def command(*arguments):
    done = subprocess.run([STORMLOG, "whatif", *map(str, arguments), "--format", "json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


@tap.test("without arguments the answer equals that of the command")
def _():
    tap.equal(stormlog.whatif(SAVES, quick=True), command(SAVES, "--quick"), "of a path")
    tap.equal(stormlog.whatif(str(SAVES), OOM, quick=True), command(SAVES, OOM, "--quick"), "of two")
    best = stormlog.whatif(SAVES, quick=True)["answers"][0]["best"]
    tap.equal(best["paste"], "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "best")


@tap.test("every argument has the effect of the command's option")
def _():
    for arguments, options in (
            ({"settings": ["max_split_size_mb:64", "roundup_power2_divisions:4"]},
             ("--set", "max_split_size_mb:64", "--set", "roundup_power2_divisions:4")),
            ({"card": "1100MiB"}, ("--card", "1100MiB")),
            ({"card": 1100 << 20}, ("--card", str(1100 << 20))),
            ({"without": ":10 "}, ("--without", ":10 ")),
            ({"free": ":23 "}, ("--free", ":23 ")),
            ({"early": True}, ("--early",)),
            ({"no_record_stream": True}, ("--no-record-stream",)),
            ({"one_stream": True}, ("--one-stream",)),
            ({"placements": 2}, ("--placements", "2")),
            ({"device": 0}, ("--device", "0"))):
        found = stormlog.whatif(OOM, quick=True, **arguments)
        tap.equal(found, command(OOM, "--quick", *options), f"{arguments}")
    cards = stormlog.whatif(OOM, settings=["max_split_size_mb:64"])["answers"][0]["rows"]
    tap.true(all(row["smallest_card_bytes"] for row in cards), "without quick there are smallest cards")


@tap.test("when nothing can be proven, the answer has the reason")
def _():
    answer = stormlog.whatif(DATA / "slog/jax.slog.xz")["answers"][0]
    tap.contains(answer["refusal"], "95 % are needed")
    tap.equal((answer["rows"], answer["best"]), ([], None), "rows and best")


@tap.test("mistakes raise the usual Python exceptions")
def _():
    for kind, part, call in (
            (stormlog.UsageError, "allocator setting", lambda: stormlog.whatif(OOM, settings=["nonsense:1"])),
            (stormlog.UsageError, "another allocator", lambda: stormlog.whatif(OOM, settings=["backend:cudaMallocAsync"])),
            (stormlog.StormlogError, "many", lambda: stormlog.whatif(OOM, card="many")),
            (stormlog.UsageError, "no line of code", lambda: stormlog.whatif(OOM, without="nowhere.py")),
            (stormlog.StormlogError, "no device 7", lambda: stormlog.whatif(OOM, device=7)),
            (stormlog.UsageError, "no history", lambda: stormlog.whatif(DATA / "peer/leaky/events.json")),
            (FileNotFoundError, "/nowhere", lambda: stormlog.whatif("/nowhere")),
            (TypeError, "not str", lambda: stormlog.whatif(OOM, settings="expandable_segments:True")),
            (TypeError, "must be a str", lambda: stormlog.whatif(OOM, settings=[5])),
            (OverflowError, "", lambda: stormlog.whatif(OOM, card=-1))):
        try:
            call()
        except kind as error:
            tap.contains(str(error), part)
        else:
            tap.true(False, f"{kind.__name__} with {part!r} was not raised")


@tap.test("analyze(whatif=False) tries no settings")
def _():
    tried = [f["whatif"]["result"] for f in stormlog.analyze(OOM)["findings"]]
    tap.equal(tried, ["may-help", "may-help", "no-help"], "with")
    left = [f["whatif"]["result"] for f in stormlog.analyze(OOM, whatif=False)["findings"]]
    tap.equal(left, ["not-tried"] * 3, "without")


tap.main()
