# SPDX-License-Identifier: MIT
"""Writes a snapshot of N events as torch 2.12 would: gen.py N FILE.

A made-up training loop: forward allocates, backward frees in reverse, the optimizer works in between. Stacks are 40 to 60
frames deep, about 240 different ones over about 700 frames, and each allocation and each free has a list object of its own, as
in torch's files. Addresses are reused; segments and blocks at the end agree with the events.

Up to REAL_LIMIT events, Python's own pickler writes the objects. Above that the objects would not fit into memory, and
Emitter writes the same bytes directly; --check N compares the two byte for byte.
"""

import pickle
import random
import sys

REAL_LIMIT = 2_000_000
T0 = 1_794_709_125_535_948
BASE = 0x7F3A_0000_0000
MIB = 1 << 20
KEYS = ("action", "addr", "size", "stream", "time_us", "compile_context", "user_metadata", "pool_id", "frames")


class Program:
    """The stacks of the made-up program, and the order in which a step passes through them."""

    def __init__(self, rng):
        self.frames = []
        self.rng = rng
        main = self.path("train.py", ("<module>", "main", "train", "train_step"))
        self.forward, self.backward, self.optimizer = [], [], []
        engine = main + self.path("graph.py", [f"_engine_run_backward_{i}" for i in range(40)])
        update = main + self.path("adamw.py", [f"_use_grad_{i}" for i in range(36)])
        for layer in range(20):
            modules = main + self.path("module.py", [f"_call_impl_{layer}_{i}" for i in range(22)])
            for op in range(4):
                self.forward.append(self.stack(modules * 3, f"linear_{layer}_{op}"))
                self.backward.append(self.stack(engine * 2, f"backward_{layer}_{op}"))
                self.optimizer.append(self.stack(update * 2, f"single_tensor_{layer}_{op}"))

    def path(self, filename, names):
        return [self.frame(filename, name) for name in names]

    def frame(self, filename, name):
        # Strings of their own for each frame, as torch makes them.
        frame = {"name": "".join(["torch_", name]),
                 "filename": "".join(["/usr/lib/python3/dist-packages/torch/nn/modules/", filename]),
                 "line": self.rng.randrange(1, 2000)}
        self.frames.append(frame)
        return frame

    def stack(self, path, leaf):
        """Innermost first, 40 to 60 frames."""
        return list(reversed(path[:self.rng.randrange(39, 60)] + [self.frame("functional.py", leaf)]))


class Heap:
    """Slots of equal size in segments; a freed slot is the next one used."""

    def __init__(self):
        self.free, self.segments, self.next_addr = {}, [], BASE

    def take(self, rounded):
        """The slot and whether a segment had to be made for it."""
        slots = self.free.setdefault(rounded, [])
        is_new = not slots
        if is_new:
            self.grow(rounded, slots)
        return slots.pop(), is_new

    def grow(self, rounded, slots):
        # As torch does: small blocks share 2 MiB, larger ones 20 MiB, and the largest have segments of their own.
        cnt = max(1, (2 if rounded < MIB else 20) * MIB // rounded)
        segment = {"addr": self.next_addr, "size": cnt * rounded, "slots": []}
        self.next_addr += (segment["size"] + 4 * MIB - 1) // (2 * MIB) * (2 * MIB)
        segment["slots"] = [[segment["addr"] + i * rounded, rounded, 0, None, segment] for i in range(cnt)]
        slots += reversed(segment["slots"])
        self.segments.append(segment)


def rounded_of(size):
    step = 512 if size < MIB else 2 * MIB
    return (size + step - 1) // step * step


class Run:
    """The events in order, as tuples (action, addr, size, time, list number)."""

    def __init__(self, cnt, seed=1):
        self.rng = random.Random(seed)
        self.program = Program(self.rng)
        self.heap = Heap()
        self.cnt = cnt
        self.time = T0
        self.list_cnt = 0
        self.made = 0
        self.step_cnt = 0
        sizes = [int(2 ** self.rng.uniform(9, 26)) for _ in self.program.forward]
        self.plan = list(zip(self.program.forward, sizes))
        self.base = [self.alloc_slot(size) for size in sizes[:40]]

    def alloc_slot(self, size):
        slot, _ = self.heap.take(rounded_of(size))
        slot[2], slot[3] = size, ()
        return slot

    def event(self, action, addr, size, stack):
        self.time += self.rng.randrange(2, 30)
        self.made += 1
        return action, addr, size, self.time, stack

    def alloc(self, size, stack):
        slot, is_new = self.heap.take(rounded_of(size))
        frames = list(stack)
        slot[2], slot[3] = size, frames
        if is_new:
            yield self.event("segment_alloc", slot[4]["addr"], slot[4]["size"], frames), None
        yield self.event("alloc", slot[0], size, frames), slot

    def release(self, slot, stack):
        frames = list(stack)
        for action in ("free_requested", "free_completed"):
            yield self.event(action, slot[0], slot[2], frames)
        slot[3] = None
        self.heap.free[slot[1]].append(slot)

    def step(self):
        live, kept = [], []
        self.step_cnt += 1
        for stack, size in self.plan:
            for event, slot in self.alloc(size + self.rng.randrange(64) * 4, stack):
                yield event
                if slot:
                    live.append(slot)
            if len(live) % 3 == 0:  # a temporary of the forward pass
                yield from self.release(live.pop(), stack)
        for i, slot in enumerate(reversed(live)):
            for event, grad in self.alloc(slot[2], self.program.backward[(i + self.step_cnt) % 80]):
                yield event
                if grad:
                    kept.append(grad)
            yield from self.release(slot, self.program.backward[(i + self.step_cnt + 1) % 80])
        for i, slot in enumerate(kept):
            yield from self.release(slot, self.program.optimizer[(i + self.step_cnt) % 80])

    def events(self):
        while True:
            for event in self.step():
                yield event
                if self.made >= self.cnt and event[0] != "free_requested" and event[0] != "segment_alloc":
                    return


def segment_dicts(heap, empty):
    for segment in sorted(heap.segments, key=lambda s: s["addr"]):
        blocks, live = [], [slot for slot in segment["slots"] if slot[3] is not None]
        for addr, size, requested, frames, _ in segment["slots"]:
            state = "inactive" if frames is None else "active_allocated"
            blocks.append({"address": addr, "size": size, "requested_size": requested, "state": state,
                           "frames": frames or empty})
        used = sum(slot[1] for slot in live)
        yield {"device": 0, "address": segment["addr"], "total_size": segment["size"], "allocated_size": used,
               "active_size": used, "requested_size": sum(slot[2] for slot in live), "stream": 0,
               "segment_type": "large" if segment["size"] > 2 * MIB else "small", "segment_pool_id": (0, 0),
               "is_expandable": False, "frames": empty, "blocks": blocks}


SETTINGS = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0,
            "expandable_segments": False, "roundup_power2_divisions": {str(2**i): 0 for i in range(16)}}


def event_dict(action, addr, size, time, frames):
    # New objects where torch makes new ones: the context string and the pool.
    context, pool = "".join(["N/", "A"]), tuple([0, 0])
    return dict(zip(KEYS, (action, addr, size, 0, time, context, "", pool, frames)))


def snapshot_of(cnt):
    run = Run(cnt)
    trace = [event_dict(*event) for event in run.events()]
    segments = list(segment_dicts(run.heap, []))
    return {"segments": segments, "device_traces": [trace], "allocator_settings": SETTINGS, "external_annotations": []}


class Emitter:
    """The bytes of Python's C pickler, protocol 4, for the same snapshot, without its objects.

    The head (segments) is pickled for real, cut where the trace begins; events are then written with the memo ids that
    the head has established. Frames follow the pickler's rule: a new one when 64 KiB are reached after an object.
    """

    FRAME = 64 * 1024

    def __init__(self, file):
        self.file, self.frame, self.memo = file, bytearray(), {}
        self.memo_cnt = 0

    def put(self, data):
        self.frame += data

    def memoize(self, key=None):
        if key is not None:
            self.memo[key] = self.memo_cnt
        self.memo_cnt += 1
        self.frame += b"\x94"

    def end_object(self):
        """The pickler looks at the frame's length after each item it saves."""
        if len(self.frame) >= self.FRAME:
            self.flush()

    def flush(self):
        if len(self.frame) < 4:
            self.file.write(bytes(self.frame))
        elif self.frame:
            self.file.write(b"\x95" + len(self.frame).to_bytes(8, "little") + self.frame)
        self.frame = bytearray()

    def get(self, key):
        i = self.memo[key]
        self.put(bytes((0x68, i)) if i < 256 else b"j" + i.to_bytes(4, "little"))

    def text(self, value, key):
        if key in self.memo:
            self.get(key)
        else:
            raw = value.encode()
            self.put(bytes((0x8C, len(raw))) + raw)
            self.memoize(key)
        self.end_object()

    def number(self, value):
        if 0 <= value < 256:
            self.put(bytes((0x4B, value)))
        elif 0 <= value < 65536:
            self.put(b"M" + value.to_bytes(2, "little"))
        elif -(2**31) <= value < 2**31:
            self.put(b"J" + value.to_bytes(4, "little", signed=True))
        else:
            raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            self.put(bytes((0x8A, len(raw))) + raw)
        self.end_object()

    def save(self, value, key=None):
        """Any of the objects of a snapshot; key names it in the memo (strings by their text, others by identity)."""
        if isinstance(value, bool):
            self.put(b"\x88" if value else b"\x89")
            self.end_object()
        elif isinstance(value, int):
            self.number(value)
        elif isinstance(value, float):
            import struct
            self.put(b"G" + struct.pack(">d", value))
            self.end_object()
        elif isinstance(value, str):
            self.text(value, ("str", id(value)) if key is None else key)
        elif isinstance(value, tuple):
            for item in value:
                self.save(item)
            self.put(b"\x86")
            self.memoize()
            self.end_object()
        elif id(value) in self.memo:
            self.get(id(value))
            self.end_object()
        else:
            self.open(value)

    def open(self, value):
        self.put(b"]" if isinstance(value, list) else b"}")
        self.memoize(id(value))
        items = list(value) if isinstance(value, list) else list(value.items())
        is_list = isinstance(value, list)
        if len(items) == 1 and is_list:
            self.save(items[0])
            self.put(b"a")
        else:
            for start in range(0, len(items), 1000):
                self.put(b"(")
                for item in items[start:start + 1000]:
                    if is_list:
                        self.save(item)
                    else:
                        self.save(item[0])
                        self.save(item[1])
                self.put(b"e" if is_list else b"u")
        self.end_object()


def emit(cnt, file):
    """Two passes over the same seed: the first finds the end state, the second writes the events."""
    first = Run(cnt)
    total = sum(1 for _ in first.events())
    run = Run(cnt)
    translate = {id(a): b for a, b in zip(first.program.frames, run.program.frames)}
    out = Emitter(file)
    file.write(b"\x80\x04")
    out.put(b"}")
    out.memoize()
    out.put(b"(")
    out.save("segments")
    live_lists = {}
    end_state = list(segment_dicts(first.heap, []))
    swap_frames(end_state, translate)
    out.save(end_state)
    keep = collect_lists(first.heap)
    out.save("device_traces")
    out.put(b"]")
    out.memoize()
    out.put(b"]")
    out.memoize()
    write_events(out, run, total, keep, live_lists)
    out.end_object()
    out.put(b"a")
    out.end_object()
    for key, value in (("allocator_settings", SETTINGS), ("external_annotations", [])):
        out.save(key)
        out.save(value)
    out.put(b"u.")
    out.flush()


def swap_frames(segments, translate):
    """The end state's stacks in terms of the second run's frame objects."""
    for segment in segments:
        for block in segment["blocks"]:
            block["frames"][:] = [translate[id(frame)] for frame in block["frames"]]


def collect_lists(heap):
    """(address) -> list object of a block that is live at the end."""
    return {slot[0]: slot[3] for segment in heap.segments for slot in segment["slots"] if slot[3]}


def write_events(out, run, total, keep, live_lists):
    del live_lists
    last_alloc = {}
    for i, event in enumerate(Run(run.cnt).events()):
        if event[0] == "alloc":
            last_alloc[event[1]] = i
    final = {last_alloc[addr]: frames for addr, frames in keep.items()}
    previous = (None, None)
    for i, (action, addr, size, time, frames) in enumerate(run.events()):
        if i % 1000 == 0:
            out.put(b"(")
        # A list written in the end state is referred to; a pair of events shares one.
        upcoming = final.get(i) or (final.get(i + 1) if action == "segment_alloc" else None)
        shown = upcoming if upcoming is not None else frames
        out.put(b"}")
        out.memoize()
        out.put(b"(")
        for key, value in zip(KEYS, (action, addr, size, 0, time)):
            out.save(key)
            out.save(value)
        out.save("compile_context")
        out.put(b"\x8c\x03N/A")
        out.memoize()
        out.end_object()
        out.save("user_metadata")
        out.save("")
        out.save("pool_id")
        out.save((0, 0))
        out.save("frames")
        if id(shown) not in out.memo and previous[0] is frames:
            out.get(previous[1])
            out.end_object()
        elif id(shown) in out.memo and upcoming is not None:
            out.get(id(shown))
            out.end_object()
        else:
            out.memo.pop(id(shown), None)
            out.open(shown)
            previous = (frames, id(shown)) if False else (frames, ("list", i))
            out.memo[("list", i)] = out.memo.pop(id(shown))
            out.memo.pop(("list", i - 3), None)
        out.put(b"u")
        out.end_object()
        if i % 1000 == 999 or i == total - 1:
            out.put(b"e")


def main(args):
    if args[0] == "--check":
        import io
        cnt = int(args[1])
        real, ours = pickle.dumps(snapshot_of(cnt), protocol=4), io.BytesIO()
        emit(cnt, ours)
        same = real == ours.getvalue()
        print("the emitter's bytes", "equal" if same else "differ from", "the pickler's:", len(real), "bytes")
        return 0 if same else 1
    cnt = int(args[0])
    with open(args[1], "wb") as file:
        if cnt <= REAL_LIMIT:
            pickle.dump(snapshot_of(cnt), file, protocol=4)
        else:
            emit(cnt, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
