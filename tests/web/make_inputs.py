#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes inputs of the page's tests as torch snapshots.

make_inputs.py FOLDER          the odd ones
make_inputs.py FOLDER RANKS    that many ranks of one run, of which one keeps memory from the middle on
make_inputs.py FOLDER --only NAME
"""
import pathlib
import pickle
import sys

NASTY = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>.py"
COMMENT = "<!--<script>"


def frame(name, filename, line):
    return {"name": name, "filename": filename, "line": line}


def event(action, addr, size, time_us, frames=()):
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": time_us, "frames": list(frames)}


def freed(addr, size, time_us, frames=()):
    return [event("free_requested", addr, size, time_us, frames), event("free_completed", addr, size, time_us, frames)]


def segment(addr, total, blocks):
    used = sum(b["size"] for b in blocks if b["state"] == "active_allocated")
    return {"device": 0, "address": addr, "total_size": total, "allocated_size": used, "active_size": used,
            "requested_size": used, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
            "is_expandable": False, "frames": [], "blocks": blocks}


def block(addr, size, state, frames=()):
    return {"address": addr, "size": size, "requested_size": size, "state": state, "frames": list(frames)}


def snapshot(events, segments=()):
    return {"segments": list(segments), "device_traces": [events], "allocator_settings": {}, "external_annotations": []}


MIB = 1 << 20
BASE = 0x7F0000000000


def one_block(frames):
    """One block that stays, with an end state that agrees."""
    return snapshot([event("segment_alloc", BASE, 2 * MIB, 1), event("alloc", BASE, MIB, 2, frames)],
                    [segment(BASE, 2 * MIB, [block(BASE, MIB, "active_allocated", frames), block(BASE + MIB, MIB, "inactive")])])


def many_stacks(count):
    events = []
    for i in range(count):
        events.append(event("alloc", BASE + i * 512, 512, i, [frame(f"f{i}", f"/u/mod{i % 500}.py", i + 1)]))
    return snapshot(events)


def backwards():
    times = [100, 50, 70, 10, 200]
    return snapshot([event("alloc", BASE + i * MIB, MIB, t, [frame("f", "/u/a.py", 1)]) for i, t in enumerate(times)])


def without_clock():
    """Blocks that come and go, a large one late, and no time_us, as PyTorch before 2.2 wrote it."""
    events = []
    for i in range(4000):
        events.append(event("alloc", BASE, MIB, 0, [frame("f", "/u/a.py", 1)]))
        events += freed(BASE, MIB, 0)
        if i == 3500:
            events.append(event("alloc", BASE + 64 * MIB, 8 * MIB, 0, [frame("g", "/u/b.py", 2)]))
            events += freed(BASE + 64 * MIB, 8 * MIB, 0)
    for e in events:
        del e["time_us"]
    return snapshot(events)


def leak_on_second_device():
    """Device 0 is busy and holds most; device 1 keeps a block in each of its steps."""
    busy = [event("alloc", BASE, 512 * MIB, 0, [frame("build", "/u/model.py", 10)])]
    for i in range(3000):
        busy.append(event("alloc", BASE + 1024 * MIB, MIB, 10 * i, [frame("forward", "/u/model.py", 20)]))
        busy += freed(BASE + 1024 * MIB, MIB, 10 * i + 5)
    kept = []
    for step in range(100):
        now = 300 * step
        kept.append(event("alloc", BASE + step * MIB, MIB, now, [frame("log", "/u/train.py", 77)]))
        kept.append(event("alloc", BASE + 500 * MIB, 2 * MIB, now + 100, [frame("forward", "/u/model.py", 20)]))
        kept += freed(BASE + 500 * MIB, 2 * MIB, now + 200)
    return {**snapshot([]), "device_traces": [busy, kept]}


def oom(size, time_us, frames):
    return {**event("oom", 0, size, time_us, frames), "device_free": 0}


def failures():
    """Requests that fail one after the other, some of them close together."""
    events = [event("alloc", BASE + i * MIB, MIB, i * 1000, [frame("f", "/u/a.py", 1)]) for i in range(200)]
    for at, step in enumerate((20, 80, 82, 84, 150, 199)):
        events.insert(step + at, oom(MIB << at, step * 1000, [frame("f", "/u/a.py", 1)]))
    return snapshot(events)


def days():
    """A run of three days, whose times have long names."""
    minute = 60 * 10**6
    return snapshot([event("alloc", BASE + i * MIB, MIB, i * 13 * minute, [frame("f", "/u/a.py", 1)]) for i in range(330)])


def same_line():
    """Blocks of one line, allocated at even numbers; those in between are another line's and go again."""
    events = []
    for i in range(16):
        events.append(event("alloc", BASE + 2 * i * MIB, MIB, 2 * i, [frame("keep", "/u/a.py", 1)]))
        events.append(event("alloc", BASE + (2 * i + 1) * MIB, 512, 2 * i + 1, [frame("work", "/u/b.py", 2)]))
        events += freed(BASE + (2 * i + 1) * MIB, 512, 2 * i + 1)
    return snapshot(events)


def even_lines(cnt=36):
    """As many lines, each of which holds the same, up to the end."""
    frames = [[frame(f"f{i}", "/u/even.py", i + 1)] for i in range(cnt)]
    blocks = [block(BASE + i * MIB, MIB, "active_allocated", frames[i]) for i in range(cnt)]
    events = [event("alloc", BASE + i * MIB, MIB, i, frames[i]) for i in range(cnt)]
    return snapshot(events, [segment(BASE, cnt * MIB, blocks)])


ODD_RANK = 137


def rank(number, steps=12):
    """A few weights, then steps of six layers up and down; the odd rank keeps one block per step."""
    layer_bytes = 3 * MIB + number % 7 * 4096
    events = [event("alloc", BASE + i * 4 * MIB, 4 * MIB, 1000 + i, [frame("build", "/u/model.py", 10)]) for i in range(8)]
    now = 2000
    for step in range(steps):
        for layer in range(6):
            events.append(event("alloc", BASE + (100 + layer) * 4 * MIB, layer_bytes, now, [frame("forward", "/u/model.py", 20 + layer)]))
            now += 50
        if number == ODD_RANK and step > steps // 2:
            events.append(event("alloc", BASE + (1000 + step) * 4 * MIB, 4 * MIB, now, [frame("log", "/u/train.py", 77)]))
        for layer in range(6):
            events += freed(BASE + (100 + layer) * 4 * MIB, layer_bytes, now)
            now += 50
    return snapshot(events)


INPUTS = {
    "hostile": lambda: one_block([frame(NASTY, f"/u/{COMMENT}{NASTY}", 7), frame("__proto__", "/u/constructor.py", 3)]),
    "not_utf8": lambda: one_block([frame("f\udcff\ud800", "/u/\udcfe.py", 7)]),
    "empty": lambda: snapshot([]),
    "one_event": lambda: snapshot([event("alloc", BASE, 512, 5, [frame("f", "/u/a.py", 1)])]),
    "backwards": backwards,
    "larger_than_card": lambda: snapshot([event("alloc", BASE, 1 << 45, 1, [frame("f", "/u/a.py", 1)])] + freed(BASE, 1 << 45, 2)),
    "high_addresses": lambda: snapshot([event("alloc", (1 << 64) - MIB * (i + 1), MIB, i, [frame("f", "/u/a.py", 1)]) for i in range(3)]),
    "without_clock": without_clock,
    "leak_on_second_device": leak_on_second_device,
    "many_stacks": lambda: many_stacks(100_000),
    "failures": failures,
    "days": days,
    "same_line": same_line,
    "even_lines": even_lines,
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if sys.argv[2:3] == ["--only"]:
        (folder / f"{sys.argv[3]}.pickle").write_bytes(pickle.dumps(INPUTS[sys.argv[3]](), protocol=4))
        return
    if len(sys.argv) > 2:
        for number in range(int(sys.argv[2])):
            (folder / f"rank{number:03d}.pickle").write_bytes(pickle.dumps(rank(number), protocol=4))
        return
    for name, make in INPUTS.items():
        # A string with a lone surrogate is pickled as bytes that are not UTF-8, as a broken file name would be.
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(make(), protocol=4))
    whole = (folder / "one_event.pickle").read_bytes()
    (folder / "half.pickle").write_bytes(whole[:len(whole) // 2])


if __name__ == "__main__":
    main()
