"""What a reader of a snapshot must find, computed in plain Python from the snapshot itself (none of our C code is used).

    python3 expect.py FILE.pickle.gz [...]     prints the block and compares it with FILE.truth.json where there is one

The pickles read here are our own recordings; a stranger's pickle must never be loaded with this.
"""
import gzip
import json
import pickle
import sys


def _live(block):
    return block["state"] != "inactive"


def device(index, events, segments):
    """Replay one device: alloc opens a block, free_completed closes it (sizes are requested bytes)."""
    blocks = {}
    for s in segments:
        if s["device"] == index:
            addr = s["address"]
            for b in s["blocks"]:
                blocks[b.get("address", addr)] = b
                addr += b["size"]
    open_, unmatched, unmatched_n, lost, delta = {}, 0, 0, 0, 0
    for e in events:
        if e["action"] == "alloc":
            if e["addr"] in open_:
                lost += 1
            open_[e["addr"]] = e["size"]
            delta += e["size"]
        elif e["action"] == "free_completed":
            delta -= e["size"]
            if open_.pop(e["addr"], None) is None:
                unmatched += e["size"]
                unmatched_n += 1
    before = sum(b["requested_size"] for a, b in blocks.items() if _live(b) and a not in open_)
    base = unmatched + before
    live = peak = base
    for e in events:
        if e["action"] == "alloc":
            live += e["size"]
            peak = max(peak, live)
        elif e["action"] == "free_completed":
            live -= e["size"]
    final = sum(b["requested_size"] for b in blocks.values() if _live(b))
    return {"device": index, "events": len(events), "base_bytes": base, "peak_requested_bytes": peak,
            "live_requested_bytes": final, "identity_holds": base + delta == final,
            }, {"unmatched_frees": unmatched_n, "unmatched_free_bytes": unmatched, "live_before_trace_bytes": before,
                "allocs_over_live": lost}


def counts(events):
    n = {}
    for e in events:
        n[e["action"]] = n.get(e["action"], 0) + 1
    return dict(sorted(n.items()))


def expect(snap):
    """The `expect` block: same keys and meaning as in data/h200/*.truth.json."""
    segments = snap["segments"]
    return {"devices": [device(i, t, segments)[0] for i, t in enumerate(snap["device_traces"])
                        if t or any(s["device"] == i for s in segments)],
            "live_bytes": sum(b["size"] for s in segments for b in s["blocks"] if _live(b)),
            "reserved_bytes": sum(s["total_size"] for s in segments),
            "segments": len(segments)}


def extra(snap):
    """More facts of the file, for tests that want them; not part of the seven old truth files."""
    segments = snap["segments"]
    states = {}
    for s in segments:
        for b in s["blocks"]:
            v = states.setdefault(b["state"], [0, 0])
            v[0] += 1
            v[1] += b["size"]
    return {"actions": [counts(t) for t in snap["device_traces"]],
            "replay": [device(i, t, segments)[1] for i, t in enumerate(snap["device_traces"])],
            "blocks": {k: {"count": c, "bytes": n} for k, (c, n) in sorted(states.items())},
            "largest_free_block": max((b["size"] for s in segments for b in s["blocks"] if not _live(b)), default=0),
            "streams": len({s["stream"] for s in segments}),
            "pools": sorted({tuple(s.get("segment_pool_id", (0, 0))) for s in segments}),
            "with_frames": sum("frames" in e for t in snap["device_traces"] for e in t),
            "annotations": len(snap.get("external_annotations", [])),
            "oom_sizes": [e["size"] for t in snap["device_traces"] for e in t if e["action"] == "oom"]}


def load(path):
    """One of our own recordings: a pickle, or the same snapshot as JSON."""
    with gzip.open(path, "rb") as f:
        raw = f.read()
    return json.loads(raw) if raw.startswith(b"{") else pickle.loads(raw)


def main(paths):
    bad = 0
    for p in paths:
        got = expect(load(p))
        try:
            want = json.load(open(p.split(".")[0] + ".truth.json"))["expect"]
        except FileNotFoundError:
            want = None
        same = "no truth" if want is None else "same" if want == got else "DIFFERENT"
        bad += same == "DIFFERENT"
        print(p, same, json.dumps(got))
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
