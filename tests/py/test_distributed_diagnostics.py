# SPDX-License-Identifier: MIT
"""stormlog.tui.distributed_diagnostics: artifacts of several ranks as events, and the table of ranks."""

import json
import os
from pathlib import Path

import records
import tap
from stormlog.telemetry import telemetry_event_to_dict, write_telemetry_records
from stormlog.tui.distributed_diagnostics import build_distributed_model, load_distributed_artifacts, parse_rank_filter

DATA = Path(os.environ["STORMLOG_TEST_DATA"])
READINGS = {"timestamps": [1.0, 2.0, 3.0], "allocated": [100, 120, 140], "reserved": [100, 130, 150]}


def write_readings(folder, name, **more):
    path = Path(folder, name, "telemetry_timeline.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**READINGS, **more}))
    return path


def error_of(call, *arguments):
    try:
        call(*arguments)
    except ValueError as error:
        return str(error)
    return "no error"


@tap.test("rank filters: lists, ranges, all; what is malformed is named")
def _():
    ranks = range(8)
    for text, expected in (("0,2,4-6", {0, 2, 4, 5, 6}), (" 1 , 3 - 4 ", {1, 3, 4}), ("all", set(ranks)), ("*", set(ranks)),
                           ("", set(ranks)), ("5,99", {5}), ("0", {0})):
        tap.equal(parse_rank_filter(text, ranks), expected, text)
    tap.equal(parse_rank_filter("all", []), set(), "no rank")
    tap.contains(error_of(parse_rank_filter, "5-2", ranks), "start>end")
    for text in ("x", "1-", "-3", "1-x", "1,,2", "1-2-3"):
        tap.contains(error_of(parse_rank_filter, text, ranks), "Invalid rank filter", text)


@tap.test("files and folders of every kind are read once each; what cannot be read is a warning")
def _(folder):
    write_telemetry_records([records.record(rank=0, world_size=3)], Path(folder, "job", "a", "events.json"))
    write_telemetry_records([records.record(rank=1, world_size=3)], Path(folder, "job", "rank1.jsonl"), "jsonl")
    write_telemetry_records([records.record(rank=2, world_size=3, metadata={"x": [1]})], Path(folder, "job", "track.csv"), "csv")
    Path(folder, "job", "bad_events.json").write_text("{")
    Path(folder, "notes.txt").write_text("no telemetry")
    Path(folder, "empty").mkdir()
    given = [Path(folder, "job"), Path(folder, "job", "rank1.jsonl"), Path(folder, "notes.txt"), Path(folder, "nowhere"),
             Path(folder, "empty")]
    loaded = load_distributed_artifacts(given)
    tap.equal([event.rank for event in loaded.events], [0, 1, 2], "each event once")
    tap.equal(loaded.events[2].metadata, {"x": [1]}, "metadata of a CSV")
    tap.equal(len(loaded.sources_loaded), 4, "files that were read")
    for part, warning in zip(("bad_events.json", "notes.txt: unsupported", "nowhere: there is no such", "empty: no telemetry"),
                             loaded.warnings):
        tap.contains(warning, part)
    tap.equal(len(loaded.warnings), 4, f"warnings: {loaded.warnings}")


@tap.test("the bundle of a real failure is read")
def _():
    loaded = load_distributed_artifacts([DATA / "peer" / "oom"])
    tap.true(loaded.events, "events")
    tap.equal(build_distributed_model(loaded.events).present_ranks, [0], "ranks")


@tap.test("series of readings get the rank they name, that of their path, or the lowest that is free")
def _(folder):
    for name, more in (("rank2", {}), ("node_local_rank7", {}), ("other", {}), ("named", {"distributed_identity": {"rank": 5}})):
        write_readings(folder, name, **more)
    write_telemetry_records([records.record(rank=0, world_size=2)], Path(folder, "events.json"))
    loaded = load_distributed_artifacts([folder])
    tap.equal(sorted({event.rank for event in loaded.events}), [0, 1, 2, 3, 5], "ranks")
    tap.equal({event.world_size for event in loaded.events if event.collector == "stormlog.series"}, {6}, "size of the job")
    synthesized = [text for text in loaded.warnings if "Synthesized telemetry events" in text]
    tap.equal(len(synthesized), 3, f"files that name no rank: {loaded.warnings}")
    second = [event for event in loaded.events if event.rank == 2]
    tap.equal([(event.allocator_allocated_bytes, event.allocator_reserved_bytes, event.allocator_change_bytes) for event in second],
              [(100, 100, 0), (120, 130, 20), (140, 150, 20)], "readings")


def job(last_world=4):
    """Three of four ranks; a gap on rank 0, a warning on 1, a critical alert on 2."""
    return [records.sample(0, 6e9, 4e9, rank=0, world_size=4), records.sample(4, 6.5e9, 5e9, rank=0, world_size=4),
            records.sample(1, 4e9, 4e9, rank=1, world_size=4, event_type="warning", context="85 % used"),
            records.sample(2, 4e9, 4e9, rank=2, world_size=4, event_type="critical", context="96 % used"),
            records.sample(3, 4e9, 4e9, rank=2, world_size=last_world)]


@tap.test("the table of ranks, and the earliest and the most severe anomaly")
def _():
    model = build_distributed_model(job())
    tap.equal((model.expected_ranks, model.present_ranks, model.missing_ranks), ([0, 1, 2, 3], [0, 1, 2], [3]), "ranks")
    first = model.rows[0]
    tap.equal((first.samples, first.allocated_delta_bytes, first.hidden_gap_latest_bytes, first.hidden_gap_peak_abs_bytes),
              (2, 10 ** 9, 15 * 10 ** 8, 2 * 10 ** 9), "rank 0")
    tap.equal((first.has_anomaly, first.first_anomaly_signal), (True, "gap_ratio_breach"), "its anomaly")
    tap.equal((model.rows[3].availability, model.rows[3].samples, model.rows[3].has_anomaly), ("missing", 0, False), "rank 3")
    earliest, worst = model.indicators
    tap.equal((earliest.kind, earliest.rank, earliest.signal), ("earliest", 0, "gap_ratio_breach"), "earliest")
    tap.equal((worst.kind, worst.rank, worst.signal, worst.details), ("most_severe", 2, "alert:critical", "96 % used"), "most severe")
    tap.equal(model.per_rank_timelines[0]["allocated"], [4 * 10 ** 9, 5 * 10 ** 9], "timeline")
    tap.equal(model.warnings, [], "warnings")


@tap.test("only selected ranks; sizes of the job that differ are a warning; a healthy job and none have no anomaly")
def _():
    model = build_distributed_model(job(), {1, 3})
    tap.equal(([row.rank for row in model.rows], model.missing_ranks), ([1, 3], [3]), "rows")
    tap.equal({indicator.rank for indicator in model.indicators}, {1}, "anomalies of the selected")
    tap.contains(build_distributed_model(job(last_world=8)).warnings[0], "4, 8")
    healthy = [records.sample(i, 4e9, 4e9, rank=rank, world_size=2) for rank in (0, 1) for i in range(20)]
    tap.equal(build_distributed_model(healthy).indicators, [], "healthy")
    empty = build_distributed_model([])
    tap.equal((empty.rows, empty.indicators, empty.expected_ranks), ([], [], []), "nothing")


@tap.test("what a series is to load_telemetry_events and back")
def _(folder):
    from stormlog import load_telemetry_events
    events = load_telemetry_events(write_readings(folder, "a", rank=3, world_size=4))
    tap.equal([(e.rank, e.world_size, e.timestamp_ns, e.event_type) for e in events],
              [(3, 4, second * 10 ** 9, "sample") for second in (1, 2, 3)], "records")
    tap.equal(telemetry_event_to_dict(events[0])["device_id"], -1, "device")
    for text in ('{"timestamps": [1], "allocated": [1, 2]}', '{"timestamps": 5}', '{"timestamps": [1], "rank": 1}'):
        path = Path(folder, "bad.json")
        path.write_text(text)
        tap.contains(error_of(load_telemetry_events, path), "timestamps", text)


tap.main()
