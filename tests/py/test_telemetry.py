# SPDX-License-Identifier: MIT
"""Version 2 records: rules, older records, identity, files."""

import csv
import json
import os
import types
from pathlib import Path

import records
import tap
from stormlog import (TelemetryEventV2, load_telemetry_events, resolve_distributed_identity, telemetry_event_from_record,
                      telemetry_event_to_dict, validate_telemetry_record)
from stormlog.telemetry import FIELD_NAMES, write_telemetry_records

DATA = Path(os.environ["STORMLOG_TEST_DATA"])


def refused(call, *parts):
    """The call must raise ValueError with these words."""
    try:
        call()
    except ValueError as error:
        for part in parts:
            tap.contains(str(error), part, "message")
        return error
    raise AssertionError(f"expected a ValueError with {parts}")


def refused_record(changes, *parts):
    refused(lambda: validate_telemetry_record(records.record(**changes)), *parts)


@tap.test("a valid record is accepted, returned with its fields in file order, and makes an equal event")
def _():
    validate_telemetry_record(records.record())
    event = telemetry_event_from_record(records.record(metadata={"a": (1, 2)}))
    tap.equal(list(telemetry_event_to_dict(event)), list(records.record()), "keys in order")
    tap.equal(event.metadata, {"a": (1, 2)}, "metadata stays what it was")
    tap.equal(TelemetryEventV2(**records.record(metadata={"a": (1, 2)})), event, "events are equal")
    tap.equal(len(FIELD_NAMES), 22, "fields")


@tap.test("missing and unknown fields are listed")
def _():
    broken = records.record(zebra=1, apple=2)
    refused(lambda: validate_telemetry_record(broken), "Unknown telemetry fields: apple, zebra")
    broken = records.record()
    del broken["pid"], broken["host"]
    refused(lambda: validate_telemetry_record(broken), "Missing required telemetry fields: pid, host")
    refused(lambda: validate_telemetry_record({}), "Missing required telemetry fields: schema_version, timestamp_ns")


@tap.test("types are strict: a bool, float or null is refused where an integer is required")
def _():
    for value in (True, 1.0, "1", None, [1]):
        refused_record({"pid": value}, "pid must be an integer")
        refused_record({"allocator_allocated_bytes": value}, "allocator_allocated_bytes must be an integer")
    for field in ("allocator_active_bytes", "device_free_bytes", "device_total_bytes"):
        validate_telemetry_record(records.record(**{field: None}))
        refused_record({field: 1.5}, f"{field} must be an integer")
    for value in (None, [], "x", types.MappingProxyType({})):
        refused_record({"metadata": value}, "metadata must be an object")
    for field in ("event_type", "collector", "host"):
        refused_record({field: "  "}, field)
        refused_record({field: None}, field)
    refused_record({"job_id": ""}, "job_id")
    validate_telemetry_record(records.record(context=""))


@tap.test("ranges, and rules between fields, are enforced")
def _():
    refused_record({"timestamp_ns": -1}, "timestamp_ns must be >= 0")
    refused_record({"device_used_bytes": -5}, "device_used_bytes must be >= 0")
    refused_record({"allocator_active_bytes": -1}, "allocator_active_bytes must be >= 0")
    refused_record({"pid": -2}, "pid must be >= -1")
    refused_record({"rank": 1}, "rank must be < world_size")
    refused_record({"local_rank": 4, "world_size": 4}, "local_rank must be < world_size")
    refused_record({"world_size": 0}, "world_size must be >= 1")
    refused_record({"device_used_bytes": 31, "device_total_bytes": 30}, "device_used_bytes")
    refused_record({"device_free_bytes": 31, "device_total_bytes": 30}, "device_free_bytes")
    validate_telemetry_record(records.record(device_id=-1, allocator_change_bytes=-5, pid=-1))
    refused_record({"schema_version": 3}, "Unsupported schema_version: 3")
    for version in (True, "2", None):
        refused_record({"schema_version": version}, "schema_version must be an integer")


@tap.test("optional identity fields have defaults")
def _():
    bare = records.record(metadata={"rank": 5})
    for name in ("job_id", "rank", "local_rank", "world_size"):
        del bare[name]
    event = telemetry_event_from_record(bare)
    tap.equal((event.job_id, event.rank, event.local_rank, event.world_size), (None, 0, 0, 1), "defaults")
    tap.equal(event.metadata, {"rank": 5}, "metadata of a version 2 record is left alone")


@tap.test("an event is checked when it is created")
def _():
    refused(lambda: TelemetryEventV2(**records.record(rank=2)), "rank must be < world_size")
    order = list(TelemetryEventV2.__dataclass_fields__)
    tap.equal(order[-6:], ["context", "job_id", "rank", "local_rank", "world_size", "metadata"], "positional order")


# Older records: (record, fields of the event). The arithmetic is that of doubles, truncated.
LEGACY = [
    ({"timestamp": 1700000000.25}, {"timestamp_ns": 1700000000249999872, "event_type": "sample", "pid": -1,
                                    "host": "unknown", "collector": "legacy.unknown", "device_id": -1}),
    ({"timestamp_ns": 5, "timestamp": 9.0}, {"timestamp_ns": 5}),
    ({"timestamp": 1, "memory_allocated": 7, "device_id": 0},
     {"allocator_allocated_bytes": 7, "allocator_reserved_bytes": 7, "device_used_bytes": 7,
      "collector": "stormlog.cuda_tracker"}),
    ({"timestamp": 1, "memory_allocated": 7}, {"collector": "stormlog.cpu_tracker", "device_id": -1}),
    ({"timestamp": 1, "memory_mb": 1.5}, {"allocator_allocated_bytes": 1572864, "device_id": 0,
                                          "collector": "stormlog.tensorflow.memory_tracker"}),
    ({"timestamp": 1, "device": "/GPU:3", "memory_mb": 0.0}, {"device_id": 3}),
    ({"timestamp": 1, "device": "/CPU:0", "memory_mb": 1}, {"device_id": -1}),
    ({"timestamp": 1, "device": "/gpu", "memory_mb": 1}, {"device_id": 0}),
    ({"timestamp": 1, "backend": "rocm"}, {"collector": "stormlog.rocm_tracker"}),
    ({"timestamp": 1, "metadata": {"backend": "mps"}}, {"collector": "stormlog.mps_tracker"}),
    ({"timestamp": 1, "type": "peak", "message": "hello"}, {"event_type": "peak", "context": "hello"}),
    ({"timestamp": 1, "total_memory": 100, "memory_allocated": 30},
     {"device_total_bytes": 100, "device_free_bytes": 70}),
    ({"timestamp": 1, "metadata": {"total_bytes": 50}}, {"device_total_bytes": 50, "device_free_bytes": 50}),
    ({"timestamp": 1, "metadata": {"rank": 1, "world_size": 4, "k": 1}, "metadata_z": 2},
     {"rank": 1, "local_rank": 1, "world_size": 4, "metadata": {"k": 1, "z": 2}}),
    ({"timestamp": 1, "device_used": 99, "active_memory": 5, "memory_allocated": 1},
     {"device_used_bytes": 1, "allocator_active_bytes": None}),
    ({"timestamp": 1, "memory_change": -4, "memory_reserved": 9, "what": "ever"},
     {"allocator_change_bytes": -4, "allocator_reserved_bytes": 9}),
]


@tap.test("older records are converted")
def _():
    for old, expected in LEGACY:
        event = telemetry_event_from_record(old)
        tap.equal({name: getattr(event, name) for name in expected}, expected, f"event of {old}")


@tap.test("older records with impossible values are refused")
def _():
    refused(lambda: telemetry_event_from_record({"timestamp": 1}, permissive_legacy=False),
            "Legacy record conversion is disabled")
    refused(lambda: telemetry_event_from_record({"event_type": "x"}), "timestamp")
    refused(lambda: telemetry_event_from_record({"timestamp": 1, "pid": None}), "pid")
    refused(lambda: telemetry_event_from_record({"timestamp": 1, "event_type": ""}), "event_type")
    refused(lambda: telemetry_event_from_record({"timestamp": 1, "metadata": [1]}), "metadata")
    refused(lambda: telemetry_event_from_record([1]), "mapping")
    refused(lambda: telemetry_event_from_record({"schema_version": None, "timestamp": 1}), "schema_version")
    event = telemetry_event_from_record({"timestamp": 1}, default_collector="me", default_sampling_interval_ms=50)
    tap.equal((event.collector, event.sampling_interval_ms), ("me", 50), "defaults given")


@tap.test("identity comes from arguments, metadata, the environment or defaults, and is checked")
def _():
    resolve = resolve_distributed_identity
    tap.equal(resolve(env={}), {"job_id": None, "rank": 0, "local_rank": 0, "world_size": 1}, "defaults")
    torchrun = {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "8", "TORCHELASTIC_RUN_ID": " job "}
    tap.equal(resolve(env=torchrun), {"job_id": "job", "rank": 3, "local_rank": 1, "world_size": 8}, "torchrun")
    tap.equal(resolve(env={"SLURM_PROCID": "2", "SLURM_NTASKS": "4", "SLURM_JOB_ID": "9"}),
              {"job_id": "9", "rank": 2, "local_rank": 2, "world_size": 4}, "Slurm without a local rank")
    tap.equal(resolve(env={"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2",
                           "OMPI_COMM_WORLD_LOCAL_RANK": "0"})["local_rank"], 0, "Open MPI")
    tap.equal(resolve(env={"RANK": "3"})["rank"], 0, "an incomplete group is ignored")
    tap.equal(resolve(rank=7, world_size=16, env={**torchrun, "LOCAL_RANK": "1"})["local_rank"], 1, "fields mix")
    tap.equal(resolve(metadata={"rank": 1, "world_size": 2, "job_id": "m"}, env={})["job_id"], "m", "metadata")
    tap.equal(resolve(rank=0, local_rank=0, world_size=1, env={"RANK": "x", "WORLD_SIZE": "y", "SLURM_JOB_ID": "5"}),
              {"job_id": "5", "rank": 0, "local_rank": 0, "world_size": 1}, "garbage that is not needed")
    refused(lambda: resolve(env={"RANK": "x", "WORLD_SIZE": "2"}), "RANK")
    refused(lambda: resolve(rank=2, world_size=2, env={}), "rank must be < world_size")
    refused(lambda: resolve(rank=0, local_rank=2, world_size=2, env={}), "local_rank must be < world_size")
    refused(lambda: resolve(rank=-1, env={}), "rank must be >= 0")
    refused(lambda: resolve(world_size=0, env={}), "world_size must be >= 1")


def write(folder, name, value):
    path = Path(folder) / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


@tap.test("a file may be an array, an object, a single record or lines; empty and wrong files are refused")
def _(folder):
    one, two = records.record(), records.record(timestamp_ns=5)
    for value in ([one, two], {"events": [one, two]}, f"{json.dumps(one)}\n{json.dumps(two)}\n"):
        tap.equal([event.timestamp_ns for event in load_telemetry_events(write(folder, "a.json", value))],
                  [one["timestamp_ns"], 5], "times")
    tap.equal(len(load_telemetry_events(write(folder, "b.json", {"rows": [one]}), events_key="rows")), 1, "by key")
    tap.equal(len(load_telemetry_events(write(folder, "c.json", one))), 1, "single record")
    tap.equal(load_telemetry_events(write(folder, "d.json", [])), [], "empty array")
    refused(lambda: load_telemetry_events(write(folder, "e.json", {"other": 1})))
    refused(lambda: load_telemetry_events(write(folder, "f.json", "3")))
    refused(lambda: load_telemetry_events(write(folder, "g.json", "{")))
    refused(lambda: load_telemetry_events(write(folder, "h.json", {"rows": [one]}), events_key="none"))
    error = refused(lambda: load_telemetry_events(write(folder, "i.json", [one, {**one, "pid": "x"}])), "pid", "record 1")
    tap.true(error.position > 100, "the error has the byte of the record")
    try:
        load_telemetry_events(Path(folder) / "missing.json")
    except FileNotFoundError as error:
        tap.contains(str(error), "missing.json")
    else:
        raise AssertionError("expected a FileNotFoundError")


@tap.test("files written as json, jsonl and csv can be read again")
def _(folder):
    rows = [records.record(timestamp_ns=1_700_000_000_123_456_789 + i, device_free_bytes=None if i else 3,
                           metadata={"text": "it's, \"quoted\"", "n": i}) for i in range(3)]
    for form in ("json", "jsonl", "csv"):
        path = Path(folder) / "deep" / f"x.{form}"
        write_telemetry_records(rows, path, form)
        back = [telemetry_event_to_dict(event) for event in load_telemetry_events(path)]
        tap.equal(back, rows, form)
    tap.equal(next(csv.reader(open(Path(folder) / "deep" / "x.csv"))), list(FIELD_NAMES), "header")
    refused(lambda: write_telemetry_records(rows, Path(folder) / "x", "xml"), "xml")


@tap.test("files of the Python tool can be loaded")
def _():
    found = list((DATA / "peer").rglob("events.json"))
    tap.true(found, "there are files in tests/data/peer")
    for path in found:
        events = load_telemetry_events(path)
        tap.true(events, f"events in {path}")
        if "schema_version" in path.read_text()[:200]:
            raw = json.loads(path.read_text())
            tap.equal([telemetry_event_to_dict(event) for event in events], raw, f"{path.name} comes back as it was")


tap.main()
