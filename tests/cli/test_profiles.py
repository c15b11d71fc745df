# SPDX-License-Identifier: MIT
"""Profiles by stack, read back: pprof with a decoder of its own and with protoc, speedscope by the fields its schema demands."""

import gzip
import json
import pickle
import shutil

import exported
import pb_decode
import tap
from cli import DATA, H200, good, stormlog


def read_pprof(path, *options):
    good("export", path, "--to", "pprof", "-o", *options)
    with open(options[0], "rb") as file:
        data = file.read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def check_references(profile):
    """Every number that points at something points at something that is there."""
    strings = profile["string_table"]
    functions = {row["id"][0]: row for row in profile["function"]}
    locations = {row["id"][0]: row for row in profile["location"]}
    tap.equal(strings[0], "", "string 0")
    tap.true(0 not in functions and 0 not in locations, "ids begin at 1")
    tap.equal(len(functions), len(profile["function"]), "function ids are unique")
    tap.equal(len(locations), len(profile["location"]), "location ids are unique")
    for row in functions.values():
        tap.true(all(0 <= row[key][0] < len(strings) for key in ("name", "system_name", "filename")), "strings of functions")
    for row in locations.values():
        tap.equal(row["mapping_id"], [profile["mapping"][0]["id"][0]], "mapping")
        tap.true(row["line"][0]["function_id"][0] in functions, "function of a location")
    for row in profile["sample"]:
        tap.true(row["location_id"][0] and set(row["location_id"][0]) <= set(locations), "locations of a sample")
        tap.equal(len(row["value"][0]), len(profile["sample_type"]), "values of a sample")


def types_of(profile):
    strings = profile["string_table"]
    return [(strings[row["type"][0]], strings[row["unit"][0]]) for row in profile["sample_type"]]


def sums_of(profile, device):
    sums = [0, 0, 0, 0]
    for row in profile["sample"]:
        label = row["label"][0]
        tap.equal(profile["string_table"][label["key"][0]], "device", "label")
        if label["num"][0] == device:
            sums = [a + b for a, b in zip(sums, row["value"][0])]
    return sums


def add_pprof_test(path):
    @tap.test(f"the pprof profile of {path.name} adds up to the report's totals")
    def _(folder):
        end = pb_decode.decode(pb_decode.PPROF, "Profile", read_pprof(path, f"{folder}/end.pb.gz"))
        peak = pb_decode.decode(pb_decode.PPROF, "Profile", read_pprof(path, f"{folder}/peak.pb.gz", "--at", "peak"))
        check_references(end)
        tap.equal(types_of(end), [("inuse_space", "bytes"), ("inuse_objects", "count"), ("alloc_space", "bytes"),
                                  ("alloc_objects", "count")], "sample types")
        for device in exported.devices_of(path):
            live, blocks, _, allocs = sums_of(end, device["device"])
            tap.equal(live, device["live_requested_bytes"], "inuse_space")
            tap.equal(allocs, device["allocs"], "alloc_objects")
            tap.equal(sums_of(peak, device["device"])[0], device["peak_requested_bytes"], "inuse_space at the peak")
            listed = sum(row["blocks"] for row in device["top_live"])
            tap.true(blocks >= listed > 0, f"inuse_objects {blocks}, listed {listed}")


def add_speedscope_test(path):
    @tap.test(f"the speedscope file of {path.name} has the schema's fields and adds up to the report's totals")
    def _():
        file = json.loads(good("export", path, "--to", "speedscope"))
        tap.equal(file["$schema"], "https://www.speedscope.app/file-format-schema.json", "$schema")
        frames = file["shared"]["frames"]
        for frame in frames:
            tap.true(isinstance(frame["name"], str) and set(frame) <= {"name", "file", "line", "col"}, f"frame {frame}")
        sums = {}
        for profile in file["profiles"]:
            tap.equal(set(profile), {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}, "fields")
            tap.equal((profile["type"], profile["unit"], profile["startValue"]), ("sampled", "bytes", 0), profile["name"])
            tap.equal(len(profile["samples"]), len(profile["weights"]), "a weight for each sample")
            tap.true(all(0 <= i < len(frames) for sample in profile["samples"] for i in sample), "frames are there")
            tap.equal(profile["endValue"], sum(profile["weights"]), "endValue")
            sums[profile["name"]] = profile["endValue"]
        for device in exported.devices_of(path):
            name = f"device {device['device']}"
            tap.equal(sums[f"{name}: live at the peak"], device["peak_requested_bytes"], "peak")
            tap.equal(sums[f"{name}: live at the end"], device["live_requested_bytes"], "end")
            tap.equal(sums[f"{name}: added and kept"], kept_by_events(path, device["device"]), "growth")


def kept_by_events(path, device):
    """Bytes allocated in the trace and not freed in it, counted from the pickle itself."""
    with gzip.open(path) as file:
        events = pickle.load(file)["device_traces"][device]
    live = {}
    for event in events:
        if event["action"] == "alloc":
            live[event["addr"]] = event["size"]
        elif event["action"] == "free_completed":
            live.pop(event["addr"], None)
    return sum(live.values())


for item in H200:
    add_pprof_test(item)
    add_speedscope_test(item)


@tap.test("protoc reads the profile and knows every field")
def _(folder):
    if not shutil.which("protoc"):
        tap.skip("protoc is not installed")
    data = read_pprof(DATA / "h200/s2_retention.pickle.gz", f"{folder}/p.pb.gz")
    with open(f"{folder}/profile.proto", "w", encoding="utf-8") as file:
        file.write(pb_decode.as_proto(pb_decode.PPROF))
    done = tap.run(["protoc", f"--proto_path={folder}", "--decode=Profile", f"{folder}/profile.proto"], input=data, text=False)
    tap.equal(done.returncode, 0, done.stderr)
    unknown = [line for line in done.stdout.decode().splitlines() if line.strip()[:1].isdigit()]
    tap.equal(unknown, [], "fields that profile.proto does not have")
    tap.true(done.stdout.count(b"sample {") > 10, "samples")


@tap.test("go tool pprof opens the profile")
def _(folder):
    if not shutil.which("go"):
        tap.skip("go is not installed")
    good("export", DATA / "h200/s2_retention.pickle.gz", "--to", "pprof", "-o", f"{folder}/p.pb.gz")
    done = tap.run(["go", "tool", "pprof", "-top", f"{folder}/p.pb.gz"])
    tap.equal(done.returncode, 0, done.stderr)
    tap.contains(done.stdout, "s2_retention")


@tap.test("the same input gives the same bytes")
def _(folder):
    path = DATA / "h200/s5_oom.pickle.gz"
    tap.true(read_pprof(path, f"{folder}/1") == read_pprof(path, f"{folder}/2"), "pprof")
    with open(f"{folder}/1", "rb") as one, open(f"{folder}/2", "rb") as two:
        tap.true(one.read() == two.read(), "compressed")


@tap.test("an empty trace and one with hostile names give valid profiles")
def _(folder):
    empty = pb_decode.decode(pb_decode.PPROF, "Profile", read_pprof(exported.save(folder, []), f"{folder}/e"))
    tap.equal(empty.get("sample", []), [], "samples")
    profile = pb_decode.decode(pb_decode.PPROF, "Profile", read_pprof(exported.hostile(folder), f"{folder}/h"))
    check_references(profile)
    tap.true(exported.HOSTILE[0] in profile["string_table"] and exported.HOSTILE[1] in profile["string_table"], "names as they are")
    tap.equal(sorted(row["value"][0][0] for row in profile["sample"]), [24, 1000], "bytes")
    frames = json.loads(good("export", f"{folder}/hostile.pickle", "--to", "speedscope"))["shared"]["frames"]
    tap.true({"name": exported.HOSTILE[0], "file": exported.HOSTILE[1], "line": 3} in frames, f"frame among {frames}")


@tap.test("telemetry is refused, because it has no allocations")
def _(folder):
    telemetry = f"{folder}/t.json"
    good("export", DATA / "h200/s5_oom.pickle.gz", "--to", "telemetry-json", "-o", telemetry)
    for kind in ("pprof", "speedscope", "perfetto", "prometheus"):
        done = stormlog("export", telemetry, "--to", kind, "-o", f"{folder}/out")
        tap.equal(done.returncode, 3, kind)
        tap.contains(done.stderr, "it has samples but no allocations")


tap.main()
