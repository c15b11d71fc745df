"""Records a PyTorch snapshot of one small script, with what is known about it by construction.

Marks in a script's lines: LEAK = the line that allocates what is retained, ACCEPT = another line a reader may name for it,
OOM = a line whose request may be the failing one. The word stands after a `#` in the line itself.
CORPUS_DEVICE=cpu runs the script's logic on the CPU and records nothing (also with torch 1.13).
"""
import ast, contextlib, gzip, json, os, pickle, sys, time
import torch

DRY = os.environ.get("CORPUS_DEVICE") == "cpu"
DEV = "cpu" if DRY else "cuda"
OUT = os.environ.get("FIX_OUT", ".")
OOM = getattr(torch, "OutOfMemoryError", None) or torch.cuda.OutOfMemoryError
_marks, _info = [], {}


def start(stacks="python", n=400_000, enabled="all", context="all", **kw):
    """Initialise CUDA and switch torch's own history on, before anything is allocated."""
    torch.manual_seed(0)
    if DRY:
        return
    torch.cuda.init()
    torch.cuda.memory._record_memory_history(enabled=enabled, context=context, stacks=stacks, max_entries=n, **kw)
    _info["record"] = dict({"enabled": enabled, "context": context, "stacks": stacks, "max_entries": n}, **kw)


def limit(mib):
    """Give the process this much of the card."""
    _info["limit_bytes"] = mib << 20
    if not DRY:
        torch.cuda.set_per_process_memory_fraction((mib << 20) / torch.cuda.mem_get_info()[1])


def step():
    """End of one loop iteration: its time on the trace's clock and the requested bytes live then. Allocates no GPU memory."""
    live = 0 if DRY else torch.cuda.memory_stats()["requested_bytes.all.current"]
    _marks.append((time.time_ns() // 1000, live))


def slope():
    """Requested bytes gained per step, past the first fifth of the run. Exact where every step has the same shapes."""
    k = len(_marks) // 5
    return (_marks[-1][1] - _marks[k][1]) / (len(_marks) - 1 - k)


def nbytes(*held):
    """Bytes of the distinct storages behind the tensors in some nested containers."""
    seen, todo = {}, list(held)
    while todo:
        o = todo.pop()
        if isinstance(o, torch.Tensor):
            if o.device.type != DEV:
                continue
            s = o.untyped_storage() if hasattr(o, "untyped_storage") else o.storage()
            seen[s.data_ptr()] = s.nbytes()
        elif isinstance(o, dict):
            todo.extend(o.values())
        elif isinstance(o, (list, tuple, set)) or type(o).__name__ == "deque":
            todo.extend(o)
    return sum(seen.values())


def count(held):
    """Number of distinct storages in a nested container: the blocks that were leaked."""
    seen, todo = set(), [held]
    while todo:
        o = todo.pop()
        if isinstance(o, torch.Tensor):
            if o.device.type == DEV:
                seen.add(o.data_ptr())
        elif isinstance(o, dict):
            todo.extend(o.values())
        elif isinstance(o, (list, tuple)):
            todo.extend(o)
    return len(seen)


def side_stream():
    """(stream, context) — a null context on the CPU."""
    if DRY:
        return None, contextlib.nullcontext()
    s = torch.cuda.Stream()
    return s, torch.cuda.stream(s)


def skip(why):
    print("SKIP", why)
    sys.stdout.flush()
    os._exit(77)


def _lines(text, mark):
    return [i + 1 for i, l in enumerate(text.splitlines()) if "# " + mark in l]


def _truth(script, truth, snap, stats, mem):
    text = open(script).read()
    leak, accept = _lines(text, "LEAK"), _lines(text, "ACCEPT")
    t = dict(truth, script=os.path.basename(script), note=(ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0],
             leak_lines=leak, oom_lines=_lines(text, "OOM"), accept_lines=sorted(set(leak + accept)),
             memory_stats=stats, mem_free=mem[0], mem_total=mem[1], torch=torch.__version__, python=sys.version.split()[0],
             gpu=torch.cuda.get_device_name(), concurrent=int(os.environ.get("CORPUS_JOBS", "1")),
             events=sum(len(d) for d in snap["device_traces"]), **_info)
    t.setdefault("accept_verdicts", [t["verdict"]])
    if "kind" in t:
        t.setdefault("accept_kinds", [t["kind"]])
    t.setdefault("steps", len(_marks))
    if "leak_bytes_total" in t:
        t.setdefault("leak_bytes_per_step", t["leak_bytes_total"] / t["steps"])
    t.setdefault("accept_steps", [t["steps"]])
    t["step_end_us"], t["step_live_bytes"] = [m[0] for m in _marks], [m[1] for m in _marks]
    return t


def save(names, script, truth, protocol=None):
    """Write NAME.pickle.gz (NAME.json.gz where the name ends in _json) and NAME.truth.json into FIX_OUT.

    `names` is one name, or {name: pickle protocol} for one snapshot in several forms.
    """
    if DRY:
        print(names, "dry", len(_marks), {k: v for k, v in truth.items() if k != "message"})
        return
    torch.cuda.synchronize()
    stats = {k: v for k, v in torch.cuda.memory_stats().items() if ".all." in k or "." not in k}
    mem = torch.cuda.mem_get_info()
    snap = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(enabled=None)
    t = _truth(script, truth, snap, stats, mem)
    for name, proto in (names if isinstance(names, dict) else {names: protocol}).items():
        json_form = name.endswith("_json")
        data = json.dumps(snap).encode() if json_form else pickle.dumps(snap, protocol=proto)
        path = f"{OUT}/{name}.{'json' if json_form else 'pickle'}.gz"
        with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as f:
            f.write(data)
        with open(f"{OUT}/{name}.truth.json", "w") as f:
            json.dump(dict(t, pickle_protocol=None if json_form else data[1]), f, indent=1)
        print(name, t["events"], os.path.getsize(path))
