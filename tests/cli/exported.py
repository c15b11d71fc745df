# SPDX-License-Identifier: MIT
"""Shared by the tests of exports and pictures: makes small snapshots, and the report to compare an export with."""

import json
import pickle

from cli import good


def devices_of(path):
    """The devices of `analyze --format json`."""
    return json.loads(good("analyze", path, "-f", "json"))["devices"]


def event(action, addr, size, time_us, frames=()):
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": time_us,
            "frames": [{"name": name, "filename": file, "line": line} for name, file, line in frames]}


def segments_of(device, events):
    """The end state that these events lead to: a segment for each block that is still live."""
    live = {}
    for item in events:
        if item["action"] == "alloc":
            live[item["addr"]] = item
        elif item["action"] == "free_completed":
            live.pop(item["addr"], None)
    for addr, item in sorted(live.items()):
        sizes = {"total_size": item["size"], "allocated_size": item["size"], "active_size": item["size"],
                 "requested_size": item["size"]}
        block = {"address": addr, "size": item["size"], "requested_size": item["size"], "state": "active_allocated",
                 "frames": item["frames"]}
        yield {"device": device, "address": addr, **sizes, "stream": 0, "segment_type": "large", "blocks": [block]}


def save(folder, *devices, name="made.pickle"):
    """A snapshot with these events for each device; returns its path."""
    path = f"{folder}/{name}"
    segments = [segment for number, events in enumerate(devices) for segment in segments_of(number, events)]
    with open(path, "wb") as file:
        pickle.dump({"segments": segments, "device_traces": [list(events) for events in devices]}, file, protocol=4)
    return path


# A frame whose names must be escaped wherever they go.
HOSTILE = ('f"\\\n<script>alert(1)</script>', '/tmp/"quote"\\back\nline;x.py', 3)


def hostile(folder):
    return save(folder, [event("alloc", 4096, 1000, 10, [HOSTILE]), event("alloc", 8192, 24, 11)], name="hostile.pickle")
