# SPDX-License-Identifier: MIT
"""Exports read back: by CPython's pickle, by json and csv, by torch's own viewer code, and by ourselves."""

import csv
import gzip
import io
import json
import pickle

import tap
from cli import DATA, H200, STORMLOG, good, stormlog

EVENT_KEYS = ("action", "addr", "device_free", "size", "stream", "time_us")
SEGMENT_KEYS = ("device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream",
                "segment_type", "segment_pool_id", "is_expandable")
TELEMETRY_KEYS = ["schema_version", "timestamp_ns", "event_type", "collector", "sampling_interval_ms", "pid", "host", "job_id",
                  "rank", "local_rank", "world_size", "device_id", "allocator_allocated_bytes", "allocator_reserved_bytes",
                  "allocator_active_bytes", "allocator_inactive_bytes", "allocator_change_bytes", "device_used_bytes",
                  "device_free_bytes", "device_total_bytes", "context", "metadata"]
NULLABLE = {"job_id", "allocator_active_bytes", "allocator_inactive_bytes", "device_free_bytes", "device_total_bytes", "context"}


def frames(item):
    return tuple((frame["name"], frame["filename"], frame["line"]) for frame in item.get("frames", ()))


def event_facts(event):
    return tuple(event.get(key) for key in EVENT_KEYS) + (frames(event),)


def block_facts(block):
    is_free = block["state"] == "inactive"
    return block["address"], block["size"], block["state"], 0 if is_free else block["requested_size"], frames(block)


def segment_facts(segment):
    return (tuple(segment[key] for key in SEGMENT_KEYS) + (frames(segment),)
            + tuple(block_facts(block) for block in segment["blocks"]))


def truth_of(path):
    return json.loads(path.with_name(path.name.replace(".pickle.gz", ".truth.json")).read_text())


def add_snapshot_test(path):
    @tap.test(f"the snapshot exported from {path.name} has the same facts")
    def _(folder):
        out = f"{folder}/snap.pickle"
        good("export", path, "--to", "snapshot", "-o", out)
        with gzip.open(path) as file:
            before = pickle.load(file)
        with open(out, "rb") as file:
            after = pickle.load(file)
        tap.equal(list(after), ["segments", "device_traces", "allocator_settings", "external_annotations"], "keys")
        tap.equal([[event_facts(event) for event in trace] for trace in after["device_traces"]],
                  [[event_facts(event) for event in trace] for trace in before["device_traces"]], "events")
        tap.equal(sorted(map(segment_facts, after["segments"])), sorted(map(segment_facts, before["segments"])), "segments")
        tap.equal(len(after["external_annotations"]), len(before["external_annotations"]), "annotations")


def add_folded_test(path):
    @tap.test(f"the folded stacks of {path.name} add up to PyTorch's counters")
    def _():
        expect = truth_of(path)["expect"]["devices"][0]
        for moment, key in (("end", "live_requested_bytes"), ("peak", "peak_requested_bytes")):
            text = good("export", path, "--to", "folded", "--at", moment)
            total = sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines())
            tap.equal(total, expect[key], key)


for item in H200:
    add_snapshot_test(item)
    add_folded_test(item)


@tap.test("exporting an exported snapshot gives the same bytes")
def _(folder):
    first, second = f"{folder}/1.pickle", f"{folder}/2.pickle"
    good("export", DATA / "h200/s6_expandable.pickle.gz", "-o", first)
    good("export", first, "-o", second)
    with open(first, "rb") as a, open(second, "rb") as b:
        tap.true(a.read() == b.read(), "both files are equal")


# Newer versions of torch.cuda._memory_viz take the whole dict, 1.13 takes the list of segments and has no segsum.
VIEWER = """
import pickle, sys
from torch.cuda import _memory_viz as viewer
data = pickle.load(open(sys.argv[1], "rb"))
if hasattr(viewer, "segsum"):
    assert "GiB" in viewer.segsum(data), viewer.segsum(data)
    assert "alloc" in viewer.trace(data) or "cudaMalloc" in viewer.trace(data)
    lines = viewer.memory(data, format_flamegraph=lambda text: text)
else:
    lines = viewer.memory(data["segments"], format_flamegraph=lambda text: text)
print(sum(int(line.rsplit(" ", 1)[1]) for line in lines.splitlines()))
"""


@tap.test("torch's own viewer code opens the snapshot")
def _(folder):
    python = tap.python_with("torch")
    path, out = DATA / "h200/s1_loss_history.pickle.gz", f"{folder}/snap.pickle"
    good("export", path, "-o", out)
    done = tap.run([python, "-c", VIEWER, out], timeout=120)
    tap.equal(done.returncode, 0, done.stderr)
    tap.equal(int(done.stdout), truth_of(path)["expect"]["reserved_bytes"], "bytes of all blocks")


def check_record(record):
    tap.equal(list(record), TELEMETRY_KEYS, "keys in the schema's order")
    for key, value in record.items():
        if value is None:
            tap.true(key in NULLABLE, f"{key} may not be null")
        elif key == "metadata":
            tap.true(isinstance(value, dict), "metadata is an object")
        elif key in ("event_type", "collector", "host"):
            tap.true(value.strip(), f"{key} is not blank")
        else:
            tap.true(type(value) is int, f"{key} is an integer, found {value!r}")
            tap.true(value >= 0 or key in ("pid", "device_id", "allocator_change_bytes"), f"{key} >= 0, found {value}")
    total = record["device_total_bytes"]
    tap.true(total is None or record["device_used_bytes"] <= total, "used <= total")


@tap.test("telemetry records keep the schema and reach PyTorch's peak")
def _():
    path = DATA / "h200/s1_loss_history.pickle.gz"
    records = json.loads(good("export", path, "--to", "telemetry-json"))
    for record in records:
        check_record(record)
    stats = truth_of(path)["memory_stats"]
    tap.equal(max(record["allocator_allocated_bytes"] for record in records), stats["allocated_bytes.all.peak"], "peak")
    tap.equal(records[-1]["allocator_allocated_bytes"], stats["allocated_bytes.all.current"], "last")
    tap.equal(records[-1]["allocator_reserved_bytes"], stats["reserved_bytes.all.current"], "reserved")
    changes = sum(record["allocator_change_bytes"] for record in records)
    tap.equal(records[0]["allocator_allocated_bytes"] + changes, records[-1]["allocator_allocated_bytes"], "sum of changes")
    times = [record["timestamp_ns"] for record in records]
    tap.equal(times, sorted(times), "order of time")


@tap.test("steps as CSV: what `diff` says at the ends of steps, and the report's peak; samples are refused")
def _():
    for path in H200[:4]:
        rows = [{key: int(value) for key, value in row.items()}
                for row in csv.DictReader(io.StringIO(good("export", path, "--to", "steps-csv")))]
        device = json.loads(good("analyze", path, "-f", "json"))["devices"][0]
        tap.equal([row["step"] for row in rows], list(range(len(rows))), f"steps of {path.name}")
        tap.equal(len(rows), device["steps"], f"number of steps of {path.name}")
        for first, second in ((0, 1), (2, len(rows) - 2)):
            found = json.loads(good("diff", path, "--at-a", f"step:{first}", "--at-b", f"step:{second}", "-f", "json"))["diffs"][0]
            tap.equal([rows[step]["live_requested_bytes"] for step in (first, second)],
                      [found[side]["live_requested_bytes"] for side in ("before", "after")], f"live bytes of {path.name}")
            tap.equal([rows[step]["reserved_bytes"] for step in (first, second)],
                      [found[side]["reserved_bytes"] for side in ("before", "after")], f"reserved bytes of {path.name}")
        for key in ("peak_requested_bytes", "peak_allocated_bytes", "peak_reserved_bytes"):
            tap.equal(max(row[key] for row in rows), device[key], f"{key} of {path.name}")
    refused = stormlog("export", next((DATA / "peer").rglob("*.json")), "--to", "steps-csv")
    tap.equal(refused.returncode, 3, f"exit code for samples: {refused.stderr}")


@tap.test("telemetry as CSV has the same values")
def _():
    path = DATA / "h200/s6_expandable.pickle.gz"
    records = json.loads(good("export", path, "--to", "telemetry-json", "--every", "1ms"))
    rows = list(csv.DictReader(io.StringIO(good("export", path, "--to", "telemetry-csv", "--every", "1ms"))))
    tap.equal(len(rows), len(records), "records")
    for row, record in zip(rows, records):
        tap.equal(json.loads(row.pop("metadata")), record.pop("metadata"), "metadata")
        tap.equal(row, {key: "" if value is None else str(value) for key, value in record.items()}, "row")


@tap.test("events keep order, stacks and the window")
def _():
    path = DATA / "h200/s7_graph_stacks_all.pickle.gz"
    with gzip.open(path) as file:
        raw = pickle.load(file)["device_traces"][0]
    exported = json.loads(good("export", path, "--to", "events-json"))
    events = exported["devices"][0]["events"]
    tap.equal(len(events), len(raw), "events")
    for event, original in zip(events, raw):
        stack = [tuple(exported["frames"][i]) for i in exported["stacks"][event.get("stack", 0)]]
        tap.equal(stack, [(name, file, line or None) for name, file, line in frames(original)], "stack")
        tap.equal((event["kind"], event["size_bytes"], event["time_us"]),
                  (original["action"], original["size"], original["time_us"]), "event")
    middle = raw[len(raw) // 2]["time_us"]
    part = json.loads(good("export", path, "--to", "events-json", "--since", middle, "--until", "end"))
    tap.equal(len(part["devices"][0]["events"]), sum(event["time_us"] >= middle for event in raw), "events of the window")


@tap.test("a failed export keeps the old file and leaves no other")
def _(folder):
    import os
    out = os.path.join(folder, "out")
    with open(out, "w") as file:
        file.write("old")
    done = stormlog("export", DATA / "h200/mlp.py", "-o", out)
    tap.equal(done.returncode, 3, "exit code")
    done = tap.run(["bash", "-c", f"ulimit -f 4; '{STORMLOG}' export '{H200[0]}' -o '{out}'"])
    tap.true(done.returncode in (4, 153, -25), f"exit code {done.returncode}")
    with open(out) as file:
        tap.equal(file.read(), "old", "the old file")


@tap.test("options that do not apply to a format are refused")
def _():
    for arguments in (("--to", "snapshot", "--at", "peak"), ("--to", "folded", "--since", "1s"), ("--device", "5"),
                      ("--to", "events-json", "--since", "2s", "--until", "1s")):
        done = stormlog("export", H200[0], "-o", "-", *arguments)
        tap.equal(done.returncode, 2, f"{arguments}: {done.stderr}")
        tap.equal(done.stdout, "", "standard output")


tap.main()
