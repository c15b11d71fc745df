# SPDX-License-Identifier: MIT
"""Writes a snapshot of N events as torch 2.12 would: gen.py N FILE.

A synthetic training loop: forward allocates, backward frees in reverse, the optimizer works in between. Stacks are 40 to 60
frames deep, about 240 different ones over about 700 frames, and each allocation and each free has its own list object, as in
torch's files. Addresses are reused; segments and blocks at the end agree with the events.

Python's own pickler writes the objects. Above TILE_EVENTS they would not fit into memory; then the steps after the first
one are written again and again, with later times, until there are enough. `gen.py --check` checks a small file made that way:
Python must be able to load it, times must increase, and every free must match a block.
"""

import pickle
import random
import re
import struct
import sys

TILE_EVENTS = 1_000_000
T0 = 1_794_709_125_535_948
BASE = 0x7F3A_0000_0000
MIB = 1 << 20
KEYS = ("action", "addr", "size", "stream", "time_us", "compile_context", "user_metadata", "pool_id", "frames")


class Program:
    """The stacks of the synthetic program, and the order in which a step uses them."""

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
        """At least cnt events, up to the end of a step, where everything the step allocated is free again."""
        while self.made < self.cnt:
            if self.step_cnt == 1:
                self.first_step_cnt = self.made
            yield from self.step()


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


def snapshot_of(run):
    trace = [event_dict(*event) for event in run.events()]
    segments = list(segment_dicts(run.heap, []))
    return {"segments": segments, "device_traces": [trace], "allocator_settings": SETTINGS, "external_annotations": []}


# --- More events than fit into memory as objects ------------------------------------------------------------------------


def without_frames(data):
    """FRAME opcodes are optional; without them bytes can be cut at any opcode."""
    parts, at = [data[:2]], 2
    while at < len(data):
        if data[at] != 0x95:
            parts.append(data[at:])
            break
        size = int.from_bytes(data[at + 1:at + 9], "little")
        parts.append(data[at + 9:at + 9 + size])
        at += 9 + size
    return b"".join(parts)


class Tile:
    """The bytes of the steps after the first, and the positions of the times in them."""

    def __init__(self, data, run):
        # After the first event, keys are references: } MEMOIZE ( j <id of "action">.
        key = b"\x8c\x07time_us\x94"
        first = data.index(b"\x8c\x06action\x94")
        action = struct.pack("<I", memo_id(data, first))
        time = struct.pack("<I", memo_id(data, data.index(key)))
        starts = [m.start() for m in re.finditer(re.escape(b"}\x94(j" + action), data)]
        assert len(starts) == run.made - 1, "every event but the first was found"
        self.begin = starts[run.first_step_cnt - 1]
        self.end = data.index(b"\x8c\x12allocator_settings\x94")
        while data[self.end - 1:self.end] in (b"a", b"e"):  # the brackets of the traces
            self.end -= 1
        self.bytes = bytearray(data[self.begin:self.end])
        self.cnt = run.made - run.first_step_cnt
        self.times = [m.end() for m in re.finditer(re.escape(b"j" + time + b"\x8a\x07"), self.bytes)]
        assert len(self.times) == self.cnt, "every time was found"
        last = int.from_bytes(self.bytes[self.times[-1]:self.times[-1] + 7], "little")
        self.period = last - int.from_bytes(self.bytes[self.times[0]:self.times[0] + 7], "little") + 10

    def advance(self):
        for at in self.times:
            time = int.from_bytes(self.bytes[at:at + 7], "little") + self.period
            self.bytes[at:at + 7] = time.to_bytes(7, "little")


def memo_id(data, at):
    """The id that the string at this place gets: one for each MEMOIZE before it."""
    cnt = 0
    for opcode, _, position in genops_quick(data, at):
        cnt += opcode == 0x94
        if position >= at:
            break
    return cnt


def genops_quick(data, stop):
    """Opcodes up to a position: just enough of pickle to walk over segments."""
    sizes = {0x4B: 1, 0x4D: 2, 0x4A: 4, 0x68: 1, 0x6A: 4, 0x47: 8}
    at = 2
    while at <= stop:
        opcode = data[at]
        yield opcode, None, at
        at += 1
        if opcode in (0x8C, 0x8A):
            at += 1 + data[at]
        else:
            at += sizes.get(opcode, 0)


def write_tiled(cnt, tile_events, file):
    run = Run(tile_events)
    data = without_frames(pickle.dumps(snapshot_of(run), protocol=4))
    tile = Tile(data, run)
    file.write(data[:tile.end])
    made = run.made
    while made < cnt:
        tile.advance()
        file.write(tile.bytes)
        made += tile.cnt
    file.write(data[tile.end:])


def check():
    import io
    out = io.BytesIO()
    write_tiled(30_000, 4_000, out)
    snapshot = pickle.loads(out.getvalue())
    trace = snapshot["device_traces"][0]
    live, last = {}, 0
    for event in trace:
        assert event["time_us"] >= last, "time goes on"
        last = event["time_us"]
        if event["action"] == "alloc":
            assert event["addr"] not in live, "a block that is live is not allocated"
            live[event["addr"]] = event["size"]
        elif event["action"] == "free_completed":
            assert live.pop(event["addr"]) == event["size"], "a free finds its block"
    assert not live and len(trace) >= 30_000
    print(f"ok: {len(trace)} events, every free finds its block, time goes on")


def main(args):
    if args[0] == "--check":
        check()
        return
    cnt = int(args[0])
    with open(args[1], "wb") as file:
        if cnt <= TILE_EVENTS:
            pickle.dump(snapshot_of(Run(cnt)), file, protocol=4)
        else:
            write_tiled(cnt, TILE_EVENTS, file)


if __name__ == "__main__":
    main(sys.argv[1:])
