# SPDX-License-Identifier: MIT
"""Snapshots in every form that has been seen, made from one: protocols, versions of torch, other vendors, JSON."""

import copy
import io
import json
import pickle
import random
import struct


def frames(*lines):
    return [{"name": f"f{n}", "filename": f"/app/{n % 3}.py", "line": n} for n in lines]


def sample():
    """A small snapshot with at least one of everything."""
    site, other, empty = frames(1, 2, 3), frames(4, 2, 3), []
    base = 0x7F0000000000

    def event(action, addr, size, time, stack, pool=(0, 0), stream=0):
        return {"action": action, "addr": addr, "size": size, "stream": stream, "time_us": 1794709125535948 + time,
                "compile_context": "".join(["N/", "A"]), "user_metadata": "", "pool_id": tuple(pool), "frames": stack}

    def block(addr, size, requested, state, stack):
        return {"address": addr, "size": size, "requested_size": requested, "state": state, "frames": stack}

    trace = [event("segment_alloc", base, 2097152, 0, site), event("alloc", base, 1000, 1, site),
             event("alloc", base + 1024, 500, 2, other, (1, 0), 93825), event("free_requested", base, 1000, 3, site),
             event("free_completed", base, 1000, 3, site), event("snapshot", 0, 512, 4, empty),
             event("segment_map", 2**63 + 4096, 2**33, 5, list(site)), event("annotate", base + 1024, 500, 6, frames(9))]
    oom = event("oom", 0, 1 << 40, 7, list(other))
    oom = {("device_free" if k == "addr" else k): (77 if k == "addr" else v) for k, v in oom.items()}
    trace.append(oom)
    segment = {"device": 0, "address": base, "total_size": 2097152, "allocated_size": 512, "active_size": 1024,
               "requested_size": 900, "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0),
               "is_expandable": False, "frames": empty,
               "blocks": [block(base, 1024, 1000, "inactive", empty),
                          block(base + 1024, 512, 500, "active_allocated", other),
                          block(base + 1536, 512, 400, "active_pending_free", site),
                          block(base + 2048, 2095104, 0, "inactive", empty)]}
    large = dict(segment, device=1, address=base + 2**30, segment_type="large", is_expandable=True,
                 segment_pool_id=(2, 3), total_size=512, allocated_size=512, active_size=512, requested_size=512)
    large["blocks"] = [block(base + 2**30, 512, 512, "active_allocated", frames(5))]
    large["frames"] = large.pop("frames") or frames(8)
    marks = [{"stage": "START", "name": "step", "device": 0, "time_us": 5},
             {"name": "step", "stage": "END", "device": 0, "time_us": 9}]
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "max_split_size": -1,
                "garbage_collection_threshold": 0.5, "expandable_segments": True,
                "roundup_power2_divisions": {"1": 0, "2": 4}}
    return {"segments": [segment, large], "device_traces": [trace, [], [event("alloc", 5, 6, 7, site)]],
            "allocator_settings": settings, "external_annotations": marks}


# --- Pickles ----------------------------------------------------------------------------------------------------------


class CppPickler:
    """The byte form of torch's C++ pickler: protocol 2, no frames, strings shared by value, containers memoised after
    their items and only when shared, ints above 32 bits in 8 bytes, one group of items however many there are."""

    def __init__(self):
        self.out = io.BytesIO()
        self.memo, self.memo_cnt, self.kept = {}, 0, []

    def dumps(self, value):
        self.counts = {}
        self.count(value)
        self.out.write(b"\x80\x02")
        self.save(value)
        self.out.write(b".")
        return self.out.getvalue()

    def count(self, value):
        if isinstance(value, (list, dict, tuple)):
            self.counts[id(value)] = self.counts.get(id(value), 0) + 1
            if self.counts[id(value)] == 1:
                for item in value.values() if isinstance(value, dict) else value:
                    self.count(item)

    def put(self, key):
        i = self.memo[key] = self.memo_cnt
        self.memo_cnt += 1
        self.out.write(bytes((0x71, i)) if i < 256 else b"r" + struct.pack("<I", i))

    def get(self, key):
        i = self.memo[key]
        self.out.write(bytes((0x68, i)) if i < 256 else b"j" + struct.pack("<I", i))

    def save(self, value):
        key = value if isinstance(value, str) else id(value)
        if isinstance(value, bool):
            self.out.write(b"\x88" if value else b"\x89")
        elif isinstance(value, int):
            self.save_int(value)
        elif isinstance(value, float):
            self.out.write(b"G" + struct.pack(">d", value))
        elif not isinstance(value, (int, float)) and key in self.memo:
            self.get(key)
        elif isinstance(value, str):
            raw = value.encode("utf-8", "surrogatepass")
            self.out.write(b"X" + struct.pack("<I", len(raw)) + raw)
            self.put(key)
        else:
            self.save_container(value)
            if self.counts[id(value)] > 1:
                self.put(key)

    def save_int(self, value):
        if 0 <= value < 256:
            self.out.write(bytes((0x4B, value)))
        elif 0 <= value < 65536:
            self.out.write(b"M" + struct.pack("<H", value))
        elif -(2**31) <= value < 2**31:
            self.out.write(b"J" + struct.pack("<i", value))
        else:  # C++ casts to signed
            self.out.write(b"\x8a\x08" + struct.pack("<Q", value % 2**64))

    def save_container(self, value):
        if isinstance(value, tuple):
            for item in value:
                self.save(item)
            self.out.write(b"\x86")
        elif isinstance(value, list):
            self.out.write(b"](")
            for item in value:
                self.save(item)
            self.out.write(b"e")
        else:
            self.out.write(b"}(")
            for key, item in value.items():
                self.save(key)
                self.save(item)
            self.out.write(b"u")


def pickled(protocol):
    return lambda snapshot: pickle.dumps(snapshot, protocol=protocol)


def python_pickled(snapshot):
    """The pickler written in Python ends lists differently from the one in C."""
    out = io.BytesIO()
    pickle._Pickler(out, 4).dump(snapshot)
    return out.getvalue()


def optimized(snapshot):
    import pickletools
    return pickletools.optimize(pickle.dumps(snapshot, protocol=4))


# --- Versions and vendors ---------------------------------------------------------------------------------------------


def map_dicts(value, change, memo):
    """A copy in which change(dict) has been applied to every dict; sharing is kept."""
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, dict):
        made = memo[id(value)] = {}
        made.update(change({k: map_dicts(v, change, memo) for k, v in value.items()}))
        memo[id(made)] = made
        return made
    if isinstance(value, list):
        made = memo[id(value)] = []
        made.extend(map_dicts(item, change, memo) for item in value)
        return made
    return value


def reordered(snapshot, order):
    return map_dicts(snapshot, lambda d: {k: d[k] for k in order(list(d))}, {})


def shuffled(seed):
    rng = random.Random(seed)

    def order(keys):
        rng.shuffle(keys)
        return keys

    return lambda snapshot: pickle.dumps(reordered(snapshot, order), protocol=4)


def reversed_keys(snapshot):
    return pickle.dumps(reordered(snapshot, lambda keys: keys[::-1]), protocol=4)


def with_pool_lists(snapshot):
    def change(d):
        return {k: list(v) if k.endswith("pool_id") else v for k, v in d.items()}
    return pickle.dumps(map_dicts(snapshot, change, {}), protocol=4)


def with_fx(snapshot):
    def change(d):
        if set(d) == {"name", "filename", "line"}:
            d = dict(d, fx_node_op="call_function", fx_node_name="add", fx_node_target="aten.add", fx_original_trace="a\nb")
        return d
    return pickle.dumps(map_dicts(snapshot, change, {}), protocol=4)


def npu_order(keys):
    if "segment_pool_id" in keys and "segment_type" in keys:
        keys.remove("segment_pool_id")
        keys.insert(keys.index("segment_type"), "segment_pool_id")
    return keys


def as_json(indent=None):
    return lambda snapshot: json.dumps(snapshot, indent=indent).encode()


# name: what writes the same snapshot in that form.
SAME = {
    "protocol 2": pickled(2), "protocol 3": pickled(3), "protocol 4": pickled(4), "protocol 5": pickled(5),
    "Python's own pickler": python_pickled, "pickletools.optimize": optimized,
    "C++": lambda s: CppPickler().dumps(s), "JSON": as_json(), "indented JSON": as_json(2),
    "keys shuffled": shuffled(1), "keys shuffled again": shuffled(2), "keys reversed": reversed_keys,
    "pool ids as lists": with_pool_lists, "FX frames": with_fx,
    "torch_npu": lambda s: pickle.dumps(reordered(s, npu_order), protocol=4),
}


def old_frames(d):
    return {k: d[k] for k in ("filename", "name", "line")} if set(d) == {"name", "filename", "line"} else d


def torch_2_0(snapshot, is_1_13=False):
    """History instead of frames in blocks, no addresses of blocks, no pools, no time."""
    def change(d):
        d = old_frames(d)
        for key in ("time_us", "compile_context", "user_metadata", "pool_id", "segment_pool_id", "is_expandable"):
            d.pop(key, None)
        if "state" in d:
            entry = {"addr": d.pop("address"), "real_size": d.pop("requested_size"), "frames": d.pop("frames"),
                     "cpp_frames": ["a::b", "c"]}
            d["history"] = [entry, dict(entry, real_size=1)] if d["state"] != "inactive" else []
        if "total_size" in d:
            d.pop("frames", None)
            if is_1_13:
                d.pop("requested_size", None)
        return d

    changed = map_dicts(snapshot, change, {})
    return changed["segments"] if is_1_13 else {k: changed[k] for k in ("segments", "device_traces")}


def torch_2_1(snapshot):
    changed = map_dicts(snapshot, lambda d: {k: v for k, v in d.items() if k not in (
        "time_us", "compile_context", "user_metadata", "pool_id")}, {})
    return {k: changed[k] for k in ("segments", "device_traces")}


def profile_plot(snapshot):
    """What torch.cuda._memory_viz.profile_plot writes: traces first, a category, blocks without addresses."""
    def change(d):
        d = dict(d)
        if "action" in d:
            d = {k: d[k] for k in ("action", "addr", "size", "stream", "frames") if k in d}
            if d["action"] == "alloc":
                d["category"] = "activation"
        if "state" in d:
            d = {k: d[k] for k in ("size", "state", "requested_size", "frames") if d["state"] != "inactive" or
                 k in ("size", "state")}
        if "total_size" in d:
            d = {k: d[k] for k in ("device", "address", "total_size", "stream", "blocks")}
        return d

    changed = map_dicts(snapshot, change, {})
    for trace in changed["device_traces"]:
        trace[:] = [e for e in trace if e["action"] in ("alloc", "free_requested", "free_completed")]
    return {"device_traces": changed["device_traces"], "segments": changed["segments"]}


def torch_main(snapshot):
    made = copy.deepcopy(snapshot)
    pinned = {"action": "alloc", "addr": 1 << 40, "size": 64, "stream": 0, "time_us": 1794709125535999, "frames": frames(6)}
    made["host_segments"] = [dict(copy.deepcopy(made["segments"][1]), device=-1)]
    made["host_traces"] = [pinned, dict(pinned, action="free_completed")]
    made["device_traces"][0][0]["forward_frames"] = ["  File 'x', line 1\n"]
    return made


def unknown_things(snapshot):
    made = copy.deepcopy(snapshot)
    made["new_top"] = {"a": [1, {"segments": []}], "b": None, "c": (1, "x", 2.5, b"raw", 2**90)}
    made["device_traces"][0][1]["new_key"] = [{"frames": []}]
    made["device_traces"][0].insert(2, dict(made["device_traces"][0][0], action="new_action"))
    made["segments"][0]["blocks"][0]["new_key"] = {"one": 1}
    return made


# name: a snapshot with other content, for which the oracle says what must come out.
OTHER = {"torch 1.13": lambda s: torch_2_0(s, True), "torch 2.0": torch_2_0, "torch 2.1": torch_2_1,
         "profile_plot": profile_plot, "torch main": torch_main, "unknown keys and actions": unknown_things}
