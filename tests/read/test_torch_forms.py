#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One snapshot gives the same trace in every form that PyTorch and other tools write."""

import gzip
import lzma
import os
import pickle
import random
import shutil
import subprocess
from pathlib import Path

import oracle
import snapshots
import tap
import variants

H200 = Path(__file__).resolve().parents[1] / "data" / "h200"


def recorded(name):
    with gzip.open(H200 / f"{name}.pickle.gz") as file:
        return pickle.load(file)


def register_same(name, write):
    @tap.test(f"a snapshot in the form '{name}' gives the same trace")
    def _(folder):
        for snapshot in (variants.sample(), recorded("s5_oom"), recorded("s7_graph_stacks_all")):
            snapshots.check(snapshots.load_bytes(folder, write(snapshot)), snapshot)


def register_other(name, change):
    @tap.test(name)
    def _(folder):
        for snapshot in (variants.sample(), recorded("s6_expandable")):
            changed = change(snapshot)
            snapshots.check(snapshots.load_bytes(folder, pickle.dumps(changed, protocol=4)), changed)


for form, writer in variants.SAME.items():
    register_same(form, writer)
for form, changer in variants.OTHER.items():
    register_other(form, changer)


@tap.test("unknown keys and actions are counted")
def _(folder):
    dump = snapshots.load_bytes(folder, pickle.dumps(variants.unknown_things(variants.sample()), protocol=4))
    tap.equal((dump["unknown_keys"], dump["unknown_actions"]), (3, 1), "unknown keys, actions")


@tap.test("an annotation of the program becomes a mark with its text")
def _(folder):
    snapshot = variants.sample()
    (event,) = [event for event in snapshot["device_traces"][0] if event["action"] == "annotate"]
    event["user_metadata"], event["internal_metadata"] = "kv cache", ""
    dump = snapshots.load_bytes(folder, pickle.dumps(snapshot, protocol=4))
    points = [mark for mark in oracle.resolve(dump)[1] if mark[0] == "point"]
    tap.equal(points, [("point", "kv cache", 0, event["time_us"])])
    tap.equal(dump["unknown_keys"], 0, "unknown keys")


@tap.test("gzip is read, in one member and in several")
def _(folder):
    snapshot = variants.sample()
    data = pickle.dumps(snapshot, protocol=4)
    snapshots.check(snapshots.load_bytes(folder, gzip.compress(data)), snapshot)
    parts = b"".join(gzip.compress(data[i:i + 300]) for i in range(0, len(data), 300))
    snapshots.check(snapshots.load_bytes(folder, parts), snapshot)


@tap.test("zstd is read")
def _(folder):
    if not shutil.which("zstd"):
        tap.skip("the zstd program is not installed")
    snapshot = recorded("s5_oom")
    plain = os.path.join(folder, "plain")
    Path(plain).write_bytes(pickle.dumps(snapshot, protocol=5))
    subprocess.run(["zstd", "-q", plain], check=True)
    snapshots.check(snapshots.load(plain + ".zst"), snapshot)


@tap.test("xz is read, also in several padded streams")
def _(folder):
    snapshot = recorded("s5_oom")
    data = pickle.dumps(snapshot, protocol=5)
    snapshots.check(snapshots.load_bytes(folder, lzma.compress(data)), snapshot)
    parts = b"".join(lzma.compress(data[i:i + 3000]) + bytes(8) for i in range(0, len(data), 3000))
    snapshots.check(snapshots.load_bytes(folder, parts), snapshot)


@tap.test("the allocator's settings are read")
def _(folder):
    dump = snapshots.load_bytes(folder, pickle.dumps(variants.sample(), protocol=4))
    found = [dump[key] for key in ("conf", "max_split_size", "gc_threshold", "is_expandable", "has_time")]
    tap.equal(found, ["expandable_segments:True", None, 0.5, True, True], "settings")
    tap.equal(dump["notes"], [], "notes")


@tap.test("events whose time goes backwards are sorted, with a note")
def _(folder):
    snapshot = variants.sample()
    trace = snapshot["device_traces"][0]
    trace[2]["time_us"], trace[5]["time_us"] = trace[5]["time_us"], trace[2]["time_us"]
    dump = snapshots.load_bytes(folder, pickle.dumps(snapshot, protocol=4))
    snapshots.check(dump, snapshot)
    tap.contains(dump["notes"][0], "device 0: time went backwards")


@tap.test("events without a time are numbered; if only some have one there is a note")
def _(folder):
    snapshot = variants.sample()
    del snapshot["device_traces"][0][3]["time_us"]
    dump = snapshots.load_bytes(folder, pickle.dumps(snapshot, protocol=4))
    snapshots.check(dump, snapshot)
    tap.equal(dump["has_time"], False, "has_time")
    tap.equal(dump["notes"], ["1 of 10 events have no time_us; the event's index is used as the clock"], "notes")


@tap.test("a snapshot without history gets a note on how to record one")
def _(folder):
    for trace, found in (([], "no events"), (variants.sample()["device_traces"][0][:1], "one event")):
        snapshot = dict(variants.sample(), device_traces=[trace])
        notes = snapshots.load_bytes(folder, pickle.dumps(snapshot, protocol=4))["notes"]
        tap.equal(notes, [f"the snapshot has {found}: its history was off, so only the final state is known; call "
                          "torch.cuda.memory._record_memory_history(max_entries=1000000) before the part of interest"], "notes")


@tap.test("blocks that do not add up get a note")
def _(folder):
    snapshot = variants.sample()
    snapshot["segments"][0]["total_size"] += 512
    dump = snapshots.load_bytes(folder, pickle.dumps(snapshot, protocol=4))
    tap.equal(dump["notes"], ["1 segment: the blocks do not add up to the size of the segment; totals by block and by segment "
                              "will differ"], "notes")


@tap.test("segments and blocks may be in any order")
def _(folder):
    snapshot = recorded("s1_loss_history")
    rng = random.Random(3)
    rng.shuffle(snapshot["segments"])
    for segment in snapshot["segments"]:
        rng.shuffle(segment["blocks"])
    snapshots.check(snapshots.load_bytes(folder, pickle.dumps(snapshot, protocol=4)), snapshot)


@tap.test("one empty list may be shared by many fields")
def _(folder):
    snapshot, empty = variants.sample(), []
    snapshot["device_traces"][1] = empty
    snapshot["unknown"] = empty
    snapshot["external_annotations"] = snapshot["host_segments"] = empty
    for segment in snapshot["segments"]:
        segment["frames"] = empty
    snapshot = {key: snapshot[key] for key in sorted(snapshot, reverse=True)}
    snapshots.check(snapshots.load_bytes(folder, pickle.dumps(snapshot, protocol=4)), snapshot)


@tap.test("a file large enough for the read-ahead thread gives the same trace")
def _(folder):
    snapshot = recorded("s1_loss_history")
    trace = snapshot["device_traces"][0]
    trace += [dict(event) for event in trace for _ in range(2)]
    trace.sort(key=lambda event: event["time_us"])
    data = pickle.dumps(snapshot, protocol=4)
    tap.true(len(data) > 4 << 20, "more than 4 MiB")
    snapshots.check(snapshots.load_bytes(folder, data), snapshot)


@tap.test("strings with control characters, emoji and 70,000 characters are read unchanged")
def _(folder):
    snapshot = variants.sample()
    snapshot["device_traces"][0][0]["frames"][0].update(name="é\U0001F600\n\"\\", filename="x" * 70000)
    for write in (variants.pickled(2), variants.pickled(4), variants.as_json()):
        snapshots.check(snapshots.load_bytes(folder, write(snapshot)), snapshot)


tap.main()
