# SPDX-License-Identifier: MIT
"""What PyTorch's allocator hands over to the recorder, against torch's own history of the same process, event by event; and
the replay of the recording. Argument: the program."""

import json
import os
import sys

import tap
from device import find_python, need_device

stormlog = os.path.abspath(sys.argv.pop(1))
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs_replay.py")
SEGMENTS = ("segment_alloc", "segment_free", "segment_map", "segment_unmap")


def record(folder, case, options=("--replay",), **env):
    need_device()
    out, path = os.path.join(folder, "run"), os.path.join(folder, "history.json")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("STORMLOG_", "PYTORCH_"))}
    result = tap.run([stormlog, "run", "-o", out, *options, "--", find_python(), PROGRAM, case, path],
                     timeout=120, env={**clean, "PYTHONDONTWRITEBYTECODE": "1", **env})
    tap.equal(result.returncode, 0, f"exit code; stderr: {result.stderr[-2000:]}")
    recordings = [os.path.join(out, name) for name in os.listdir(out) if name.endswith(".slog")]
    tap.equal(len(recordings), 1, "recordings")
    lines = tap.run([stormlog, "cat", "--format", "json", recordings[0]]).stdout.splitlines()
    with open(path) as file:
        history = json.load(file)
    return recordings[0], [json.loads(line) for line in lines], history


def place(label):
    """("stream 7f pool 0.1") -> (127, (0, 1))."""
    words = label.split()
    return int(words[1], 16), tuple(map(int, words[3].split("."))) if len(words) > 3 else None


def as_history(events):
    """The allocator's events of a recording, as torch's history has them: action, address, size, stream, pool."""
    made, asked = [], {}
    for event in events:
        kind, address, size = event["kind"], event["addr"], event["size"]
        if kind == "request":
            asked[address] = size
        elif kind == "alloc" and event["device"] == 0:
            made.append(["alloc", address, asked.pop(address, size), *place(event["label"])])
        elif kind == "free" and event["device"] == 0:
            made.append(["free_requested", address])
            if not event["flags"] & 4:
                made.append(["free_completed", address])
        elif kind == "reusable":
            made.append(["free_completed", address])
        elif kind in SEGMENTS:
            made.append([kind, address, size, *place(event["label"])])
        elif kind == "oom":
            made.append(["oom", address, size])
    return made


def from_torch(history, has_pools):
    """The same of torch's history. A free is complete before it is reported, so the two are in the opposite order there."""
    made = []
    for action, address, size, stream, pool in history["events"]:
        if action in ("alloc", *SEGMENTS):
            made.append([action, address, size, stream, tuple(pool) if has_pools else None])
        elif action == "oom":
            made.append([action, address, size])
        elif action in ("free_requested", "free_completed"):
            made.append([action, address])
    return made


def compare(events, history):
    found = as_history(events)
    has_pools = all(event[4] for event in history["events"] if event[0] == "alloc")
    if not has_pools:
        found = [event if len(event) < 5 else [*event[:4], None] for event in found]
    expected = from_torch(history, has_pools)
    tap.equal(len(found), len(expected), "events")
    for i, (ours, theirs) in enumerate(zip(found, expected)):
        tap.equal(ours, theirs, f"event {i} of {len(expected)}")
    tap.equal([event for event in events if event["kind"] == "tracking"][0]["device"], -1, "tracking is said")


def prove(path):
    """The answer of `whatif`, whose replay has every address and the reserved curve."""
    result = tap.run([stormlog, "whatif", "--quick", "--format", "json", path])
    tap.equal(result.returncode, 0, result.stderr)
    answer = json.loads(result.stdout)["answers"][0]
    proof = answer["proof"]
    tap.equal((proof["addresses_same"], proof["curve_same"]), (proof["addresses"], True), f"{proof}")
    return answer


for case in ("train", "streams", "pools"):
    for conf in ("", "expandable_segments:True"):
        @tap.test(f"{case}, {conf or 'defaults'}: every event matches torch's own history, and the replay finds every address")
        def _(folder, case=case, conf=conf):
            path, events, history = record(folder, case, **({"PYTORCH_CUDA_ALLOC_CONF": conf} if conf else {}))
            compare(events, history)
            answer = prove(path)
            tap.equal(answer["proof"]["settings"], conf, "settings in effect")
            if case == "streams":
                tap.equal(any(event["kind"] == "reusable" for event in events), True, "frees that waited for a stream")
            if case == "train":
                tap.equal(sum(event["kind"] == "empty_cache" for event in events), 2, "calls of empty_cache()")


@tap.test("a failed request is recorded with the card's free bytes, and it fails in the replay, too")
def _(folder):
    path, events, history = record(folder, "oom")
    compare(events, history)
    tap.equal(sum(event["kind"] == "oom" for event in events), 2, "requests that failed")
    tap.equal(prove(path)["rows"][0]["fits"], False, "the replay fails, too")


@tap.test("settings in effect and all their changes are recorded, and a setting that was reset is a finding")
def _(folder):
    path, events, _ = record(folder, "settings", PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:128")
    tap.equal(sum(event["kind"] == "settings" for event in events), 2, "changes")
    report = json.loads(tap.run([stormlog, "analyze", "--format", "json", path]).stdout)
    found = [finding for finding in report["findings"] if finding["kind"] == "settings"]
    tap.equal(len(found), 1, report["findings"])
    tap.contains(json.dumps(found[0]), "max_split_size_mb")


@tap.test("without --replay nothing is attached to torch's allocator, and none of its events is recorded")
def _(folder):
    _, events, history = record(folder, "train", options=[])
    kinds = {event["kind"] for event in events}
    tap.equal(kinds & {"request", "tracking", "reusable", *SEGMENTS}, set())
    allocs = sum(event[0] == "alloc" for event in history["events"])
    tap.equal(sum(event["kind"] == "alloc" and event["device"] == 0 for event in events), allocs)


tap.main()
