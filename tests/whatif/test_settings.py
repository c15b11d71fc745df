# SPDX-License-Identifier: MIT
"""Every setting by --set: accepted, shown as it is understood, and with an effect where it must have one. test_settings.py STORMLOG."""

import json
import sys
from pathlib import Path

import tap

stormlog = sys.argv.pop(1)
DATA = Path(__file__).resolve().parents[2] / "tests/data"
VARYING = DATA / "corpus/x18_expandable_varying.pickle.gz"
STREAMS = DATA / "whatif/repairs/rec.pickle.gz"
SMALL = DATA / "corpus/c24_oom_leak_varying.pickle.gz"


def rows(path, *settings, card=None):
    args = [stormlog, "whatif", "--format", "json", "--quick", "--placements", "1", str(path)]
    args += [part for text in settings for part in ("--set", text)] + (["--card", card] if card else [])
    result = tap.run(args)
    tap.equal(result.returncode, 0, f"exit code of {settings}: {result.stderr}")
    return json.loads(result.stdout)["answers"][0]["rows"]


# What is typed, what is shown, and a figure of the row that differs from the one as recorded.
EFFECTS = [
    (SMALL, "1GiB", "expandable_segments=True", "expandable_segments:True", "reserved_peak_bytes"),
    (SMALL, "1GiB", "max_split_size_mb=20", "max_split_size_mb:20", "driver_allocs"),
    (SMALL, "1GiB", "roundup_power2_divisions=2", "roundup_power2_divisions:2", "active_peak_bytes"),
    (SMALL, "1GiB", "roundup_power2_divisions:[1:8,4:4,>:2]", "roundup_power2_divisions:[1:8,2:0,4:4,8:2,>:2]", "active_peak_bytes"),
    (SMALL, "1GiB", "garbage_collection_threshold=0.1", "garbage_collection_threshold:0.1", "collections"),
    (SMALL, "1GiB", "per_process_memory_fraction=0.2", "per_process_memory_fraction:0.2", "fits"),
    (SMALL, "1GiB", "no_caching=True", "no_caching:True", "driver_allocs"),
    (SMALL, "1GiB", "large_segment_size_mb=64", "large_segment_size_mb:64", "reserved_peak_bytes"),
    (STREAMS, None, "one_stream=True", "one_stream:True", "reserved_peak_bytes"),
    (STREAMS, None, "no_record_stream=True", "no_record_stream:True", "reserved_peak_bytes"),
]


@tap.test("every setting changes the figure it is for")
def _():
    for path, card, typed, shown, figure in EFFECTS:
        recorded, own = rows(path, typed, card=card)
        tap.equal(own["settings"], shown, f"what {typed} is shown as")
        tap.equal(own[figure] != recorded[figure], True, f"{figure} differs with {typed}: {own[figure]} and {recorded[figure]}")


@tap.test("max_non_split_rounding_mb changes what max_split_size_mb does")
def _():
    both = rows(STREAMS, "max_split_size_mb=32", "max_split_size_mb=32,max_non_split_rounding_mb=1000")
    tap.equal(both[1]["reserved_peak_bytes"] != both[2]["reserved_peak_bytes"] or
              both[1]["driver_allocs"] != both[2]["driver_allocs"], True,
              f"figures of {[row['settings'] for row in both]}")


@tap.test("settings combine, and the last value of a key wins")
def _():
    text = "expandable_segments=False,max_split_size_mb=64,roundup_power2_divisions=4," \
           "garbage_collection_threshold=0.8,max_split_size_mb=128"
    tap.equal([row["settings"] for row in rows(VARYING, text)][1],
              "max_split_size_mb:128,roundup_power2_divisions:4,garbage_collection_threshold:0.8", "the combination")


@tap.test("rows are in the order of the options, without duplicates")
def _():
    got = [row["settings"] for row in rows(SMALL, "max_split_size_mb=64", "expandable_segments=True", "max_split_size_mb=64")]
    tap.equal(got, ["", "max_split_size_mb:64", "expandable_segments:True"], "rows")


@tap.test("a value that torch refuses is refused")
def _():
    for text in ("max_split_size_mb=19", "roundup_power2_divisions=3", "garbage_collection_threshold=1.5", "per_process_memory_fraction=2",
                 "expandable_segments=maybe", "no_such_key=1", "backend=cudaMallocAsync", "max_split_size_mb=99999999999999999999"):
        result = tap.run([stormlog, "whatif", str(SMALL), "--set", text])
        tap.equal((result.returncode, result.stdout), (2, ""), f"{text}: {result.stderr}")


tap.main()
