# SPDX-License-Identifier: MIT
"""Perfetto traces, read back by an independent decoder and compared with the report."""

import shutil

import exported
import pb_decode
import tap
from cli import DATA, H200, ROOT, good

SLICE_BEGIN, SLICE_END, INSTANT, COUNTER = 1, 2, 3, 4
UNIT_SIZE_BYTES = 3


class Trace:
    """Tracks by uuid, and the events of each in the order of the file."""

    def __init__(self, data):
        self.tracks, self.events, self.packets = {}, {}, 0
        for packet in pb_decode.decode(pb_decode.PERFETTO, "Trace", data).get("packet", []):
            tap.equal(packet["trusted_packet_sequence_id"], [1], "sequence")
            if self.packets == 0:
                tap.equal(packet["sequence_flags"], [1], "the first packet clears the state")
            self.packets += 1
            if "track_descriptor" in packet:
                track = packet["track_descriptor"][0]
                tap.true(track["uuid"][0] not in self.tracks, "uuids are unique")
                self.tracks[track["uuid"][0]] = track
            else:
                self.add_event(packet["timestamp"][0], packet["track_event"][0])

    def add_event(self, time_ns, event):
        uuid = event["track_uuid"][0]
        tap.true(uuid in self.tracks, "a track is described before its first event")
        is_counter = "counter" in self.tracks[uuid]
        tap.equal(event["type"][0] == COUNTER, is_counter, "counters on counter tracks only")
        tap.equal("counter_value" in event, is_counter, "a value for each counter event")
        self.events.setdefault(uuid, []).append((time_ns, event))

    def process_of(self, device):
        for uuid, track in self.tracks.items():
            if "process" in track and track["process"][0]["process_name"][0] == f"device {device}":
                return uuid
        raise AssertionError(f"no process for device {device}")

    def counters(self, device):
        """{name: [(time_ns, value)]} of a device."""
        process, found = self.process_of(device), {}
        for uuid, track in self.tracks.items():
            if "counter" in track and track["parent_uuid"][0] == process:
                tap.equal(track["counter"][0]["unit"], [UNIT_SIZE_BYTES], "unit")
                found[track["name"][0]] = [(time, event["counter_value"][0]) for time, event in self.events.get(uuid, [])]
        return found

    def thread_events(self, device):
        process = self.process_of(device)
        for uuid, track in self.tracks.items():
            if "thread" in track and track["parent_uuid"][0] == process:
                tap.equal(track["thread"][0]["pid"], self.tracks[process]["process"][0]["pid"], "the thread's process")
                return self.events.get(uuid, [])
        raise AssertionError("no thread for the steps")


def read(path, *options):
    with open(options[0], "wb") as _:
        pass
    good("export", path, "--to", "perfetto", "-o", *options)
    with open(options[0], "rb") as file:
        return Trace(file.read())


def check_counters(trace, device):
    counters = trace.counters(device["device"])
    for points in counters.values():
        times = [time for time, _ in points]
        tap.equal(times, sorted(times), "order of time")
    for name, last, peak in (("live, as requested", "live_requested_bytes", "peak_requested_bytes"),
                             ("allocated, in blocks", "allocated_bytes", "peak_allocated_bytes"),
                             ("reserved", "reserved_bytes", "peak_reserved_bytes")):
        tap.equal(counters[name][-1][1], device[last], f"last of {name}")
        tap.equal(max(value for _, value in counters[name]), device[peak], f"highest of {name}")
    tap.true(counters["live, as requested"][0][0] >= device["first_time_us"] * 1000, "nanoseconds of the input's clock")
    tap.true(counters["live, as requested"][-1][0] <= device["last_time_us"] * 1000, "nanoseconds of the input's clock")
    at_sites = {name: points for name, points in counters.items() if name.startswith("live at ")}
    tap.equal(sum(points[-1][1] for points in at_sites.values()), device["live_requested_bytes"], "sites at the end")
    check_sites_at_peak(at_sites, device)


def check_sites_at_peak(at_sites, device):
    peak_ns = device["peak_time_us"] * 1000
    for row in device["top_peak"][:3]:
        site = row["site"]
        name = f"live at {site['label']}" if site["file"] is None else \
            f"live at {site['file']}:{site['line']} in {site['function']}"
        values = [value for time, value in at_sites[name] if time <= peak_ns]
        tap.true(row["bytes"] in values, f"{name} reaches {row['bytes']} by the peak")


def check_slices(trace, device):
    depth = steps = 0
    for _, event in trace.thread_events(device["device"]):
        kind = event["type"][0]
        if kind == SLICE_BEGIN:
            depth, steps = depth + 1, steps + 1
            tap.equal(event["name"], [f"step {steps - 1}"], "name of a step")
        elif kind == SLICE_END:
            depth -= 1
        tap.true(depth in (0, 1), "steps lie behind each other")
    tap.equal(depth, 0, "every step ends")
    tap.equal(steps, device["steps"] or 0, "steps")


def add_test(path):
    @tap.test(f"the Perfetto trace of {path.name} agrees with the report")
    def _(folder):
        trace = read(path, f"{folder}/t.pftrace")
        for device in exported.devices_of(path):
            check_counters(trace, device)
            check_slices(trace, device)


for item in H200:
    add_test(item)


@tap.test("every marked step that ended is a slice, and the report counts as many")
def _(folder):
    counted = {}
    for path in sorted([*(ROOT / "tests/format/v1_1").glob("*.slog"), *(DATA / "slog").glob("*.slog.xz")]):
        trace = read(path, f"{folder}/t.pftrace")
        for device in exported.devices_of(path):
            if device["device"] >= 0:
                check_slices(trace, device)
                counted[path.name, device["device"]] = device["steps_marked"] and device["steps"]
    tap.equal(counted["closed.slog", 0], 3, "marked steps of closed.slog")
    tap.true(max(counted.values()) > 10, f"a recording with many marked steps: {counted}")


@tap.test("a failed request and the peak are instant events")
def _(folder):
    trace = read(DATA / "h200/s5_oom.pickle.gz", f"{folder}/t")
    names = [event["name"][0] for _, event in trace.thread_events(0) if event["type"][0] == INSTANT]
    tap.equal(names, ["peak: 2.78 GiB live", "out of memory: 16.0 MiB requested"], "instants")


@tap.test("a window has only its own events and begins with the state at its start")
def _(folder):
    path = DATA / "h200/s2_retention.pickle.gz"
    device = exported.devices_of(path)[0]
    trace = read(path, f"{folder}/t", "--since", "-300ms")
    first = device["last_time_us"] * 1000 - 300_000_000
    counters = trace.counters(0)
    for points in counters.values():
        tap.true(all(time >= first for time, _ in points), "inside the window")
    start = min(time for points in counters.values() for time, _ in points)
    tap.equal({points[0][0] for points in counters.values()}, {start}, "every counter has a value at the first event")
    tap.equal(counters["live, as requested"][-1][1], device["live_requested_bytes"], "end")


@tap.test("protoc reads the trace and knows every field")
def _(folder):
    if not shutil.which("protoc"):
        tap.skip("protoc is not installed")
    good("export", DATA / "h200/s5_oom.pickle.gz", "--to", "perfetto", "-o", f"{folder}/t")
    with open(f"{folder}/trace.proto", "w", encoding="utf-8") as file:
        file.write(pb_decode.as_proto(pb_decode.PERFETTO))
    with open(f"{folder}/t", "rb") as file:
        done = tap.run(["protoc", f"--proto_path={folder}", "--decode=Trace", f"{folder}/trace.proto"], stdin=file)
    tap.equal(done.returncode, 0, done.stderr)
    tap.equal([line for line in done.stdout.splitlines() if line.strip()[:1].isdigit()], [], "unknown fields")


@tap.test("traces that are empty, have one event, go back in time or have hostile names give valid files")
def _(folder):
    tap.equal(read(exported.save(folder, []), f"{folder}/e").packets, 0, "packets of an empty trace")
    one = read(exported.save(folder, [exported.event("alloc", 512, 7, 5)]), f"{folder}/1").counters(0)
    tap.equal(one["live, as requested"], [(5000, 7)], "one event")
    events = [exported.event("alloc", 512 * i, i, -i * 10 ** 15) for i in range(1, 6)]
    back = read(exported.save(folder, events), f"{folder}/b").counters(0)
    tap.true(all(time >= 0 for time, _ in back["live, as requested"]), "negative clocks are moved, not wrapped")
    tap.equal(back["live, as requested"][-1][1], 15, "bytes")
    names = read(exported.hostile(folder), f"{folder}/h").counters(0)
    tap.true(any("<script>" in name for name in names), f"names stay what they are: {list(names)}")


tap.main()
