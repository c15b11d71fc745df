# SPDX-License-Identifier: MIT
"""What a reader must make of a snapshot, worked out independently: a plain walk over the objects that Python's own
pickle (or json) gives, in the shape of trace_dump's output with stacks written out.

Only for files we made or checked ourselves: pickle.loads runs what it is told to.
"""

ACTIONS = {"alloc", "free", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
           "segment_unmap", "snapshot", "oom", "annotate"}
STATES = {"active_awaiting_free": "active_pending_free"}


def line_of(line):
    """torch writes -1 for "unknown", some versions as 2^64 - 1."""
    return 0 if line < 0 or line >= 2**63 else line


def stack_of(frames):
    return tuple((f.get("name", ""), f.get("filename", ""), line_of(f.get("line", 0))) for f in frames or [])


def pool_of(pool):
    return None if pool is None else tuple(pool)


def event_of(event, time):
    addr = event["device_free"] if event["action"] == "oom" and "device_free" in event else event.get("addr", 0)
    return (event["action"], addr % 2**64, event["size"], event.get("stream", 0) % 2**64, time, pool_of(event.get("pool_id")),
            stack_of(event.get("frames")))


def events_of(trace, has_time):
    known = [e for e in trace if e["action"] in ACTIONS]
    rows = [event_of(e, e["time_us"] if has_time else i) for i, e in enumerate(known)]
    return sorted(rows, key=lambda row: row[4])  # stable, as the reader promises


def block_of(block, addr):
    state = STATES.get(block["state"], block["state"])
    history = block.get("history")
    if history:
        requested, frames = history[0]["real_size"], history[0].get("frames")
    else:
        requested, frames = block.get("requested_size", block["size"]), block.get("frames")
    return (block.get("address", addr) % 2**64, block["size"], requested, state, stack_of(frames))


def segment_of(segment):
    blocks, addr = [], segment["address"]
    for block in segment["blocks"]:
        blocks.append(block_of(block, addr))
        addr = blocks[-1][0] + block["size"]
    active = [b for b in blocks if b[3] != "inactive"]
    requested = segment.get("requested_size", sum(b[2] for b in active))
    allocated = segment.get("allocated_size", sum(b[1] for b in active if b[3] == "active_allocated"))
    return (segment["address"], segment["total_size"], allocated, segment.get("active_size", sum(b[1] for b in active)),
            requested, segment["stream"] % 2**64, segment.get("segment_type") == "large",
            segment.get("is_expandable", False), pool_of(segment.get("segment_pool_id", (0, 0))),
            stack_of(segment.get("frames")), tuple(sorted(blocks)))


def walk(snapshot):
    """{device: (events, segments)} and the marks."""
    if isinstance(snapshot, list):
        snapshot = {"segments": snapshot, "device_traces": []}
    traces = dict(enumerate(snapshot.get("device_traces", [])))
    host = snapshot.get("host_traces", [])
    traces[-1] = [e for item in host for e in (item if isinstance(item, list) else [item])]
    segments = snapshot.get("segments", []) + snapshot.get("host_segments", [])
    has_time = all("time_us" in e for t in traces.values() for e in t if e["action"] in ACTIONS)
    devices = {}
    for device, trace in traces.items():
        if any(e["action"] in ACTIONS for e in trace):
            devices.setdefault(device, [[], []])[0] = events_of(trace, has_time)
    for segment in segments:
        devices.setdefault(segment["device"], [[], []])[1].append(segment_of(segment))
    for parts in devices.values():
        parts[1].sort(key=lambda s: s[0])
    stages = {"START": "begin", "END": "end"}
    marks = [(stages.get(a["stage"], "point"), a["name"], a["device"], a["time_us"])
             for a in snapshot.get("external_annotations", [])]
    return devices, sorted(marks, key=lambda m: m[3])


def resolve(dump):
    """trace_dump's output in the same shape, stack ids replaced by stacks."""
    stacks = [tuple((name, file, line) for name, file, line in stack) for stack in dump["stacks"]]
    devices = {}
    for device in dump["devices"]:
        events = [(*e[:5], pool_of(e[5]), stacks[e[6]]) for e in device["events"]]
        segments = []
        for s in device["segments"]:
            assert all(b[5] for b in s[10]), "a block names another segment"
            blocks = tuple((*b[:4], stacks[b[4]]) for b in s[10])
            segments.append((*s[:8], pool_of(s[8]), stacks[s[9]], blocks))
        devices[device["device"]] = [events, segments]
    return devices, [tuple(m) for m in dump["marks"]]


def difference(found, expected):
    """None, or the first place where they differ."""
    if found[1] != expected[1]:
        return f"marks: {found[1][:3]} ... expected {expected[1][:3]} ..."
    if sorted(found[0]) != sorted(expected[0]):
        return f"devices {sorted(found[0])}, expected {sorted(expected[0])}"
    for device in expected[0]:
        for part, name in ((0, "event"), (1, "segment")):
            ours, theirs = found[0][device][part], expected[0][device][part]
            if len(ours) != len(theirs):
                return f"device {device}: {len(ours)} {name}s, expected {len(theirs)}"
            for i, (a, b) in enumerate(zip(ours, theirs)):
                if a != b:
                    place = next(k for k in range(len(b)) if a[k] != b[k])
                    return f"device {device} {name} {i} column {place}: {a[place]!r:.2000}, expected {b[place]!r:.2000}"
    return None
