#!/usr/bin/env python3
"""Records the corpus: every case in its own process, with a time limit; failures are reported and passed over.

    python3 tests/corpus/record_all.py --out DIR [--only NAME ...] [--jobs 6] [--budget 330]

Each case leaves NAME.pickle.gz (or NAME.json.gz) and NAME.truth.json in DIR. The driver then adds to the truth file what it
reads from the snapshot in plain Python (expect.py), checks the label against it, and prints a table. corpus.tar goes to $OUT
(to DIR where OUT is not set). CORPUS_DEVICE=cpu tries the scripts' logic without a GPU and records nothing.
"""
import argparse, collections, concurrent.futures, glob, gzip, json, os, pickle, shutil, signal, subprocess, sys, tarfile, tempfile, threading, time
import expect

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_S, LONG_S = 60, 150
LONG = ("c09_forward_hook", "c33_grad_accumulation", "c36_torch_compile")  # native stacks are slow to symbolise, kernels to compile
ALONE = ("c20", "c21", "c22", "c23", "c24", "c25", "x10")  # out of memory: nobody else on the card
WARN_GZ, TAR_MAX = 200_000, 16 << 20


def user_line(frames, script):
    """The deepest frame in the case's own file; None where the stack has none."""
    return next((f["line"] for f in frames if os.path.basename(f["filename"]) == script), None)


def live_by_line(snap, script):
    lines = collections.Counter()
    for s in snap["segments"]:
        for b in s["blocks"]:
            if b["state"] != "inactive":
                lines[user_line(b.get("frames") or [], script)] += b["requested_size"]
    return lines


def check_leak(t, lines):
    per_step, steps = t.get("leak_bytes_per_step", 0), t["steps"]
    if per_step <= 0:
        yield "no leak measured"
    accepted = sum(n for l, n in lines.items() if l in t["accept_lines"] or (l is None and t.get("accept_no_line")))
    if accepted < 0.8 * per_step * steps:
        yield f"marked lines hold {accepted:.0f} of {per_step * steps:.0f} leaked bytes"
    live = t["step_live_bytes"]
    if t["verdict"] == "leak" and not t.get("noisy") and live[-1] - live[len(live) // 4] < 0.5 * per_step * steps * 0.75:
        yield "live bytes at step ends do not grow as labelled"


def check_oom(t, snap, script):
    ooms = [e for tr in snap["device_traces"] for e in tr if e["action"] == "oom"]
    if not ooms:
        yield "no oom event"
        return
    line = user_line(ooms[-1].get("frames", []), script)
    t.update(oom_lines_marked=t["oom_lines"], oom_line_measured=line, oom_request_rounded=ooms[-1]["size"])
    if line in t["oom_lines"]:
        t["oom_lines"] = [line]
    elif not (line is None and t.get("accept_no_oom_line")):
        yield f"oom at line {line}, marked {t['oom_lines']}"
    want = t.get("request_bytes")
    if want and not want <= ooms[-1]["size"] <= want + 511:
        yield f"oom asked {ooms[-1]['size']}, label says {want}"


def check_healthy(t):
    live = t["step_live_bytes"]
    q = len(live) // 4
    mid, end = sorted(live[2 * q:3 * q]), sorted(live[3 * q:])
    if q and end[len(end) // 2] > 1.05 * mid[len(mid) // 2]:
        yield f"median live at step ends grows {mid[len(mid) // 2]} -> {end[len(end) // 2]}"


def check_books(t, snap):
    """The replay against torch's own counters."""
    e, s = t["expect"], t["memory_stats"]
    if not all(d["identity_holds"] for d in e["devices"]):
        yield "identity does not hold"
    if e["live_bytes"] != s["active_bytes.all.current"]:
        yield f"live {e['live_bytes']} != active_bytes {s['active_bytes.all.current']}"
    if e["reserved_bytes"] != s["reserved_bytes.all.current"]:
        yield "reserved != reserved_bytes"
    whole = len(snap["device_traces"]) == 1 and e["devices"] and e["devices"][0]["base_bytes"] == 0
    if whole and e["devices"][0]["peak_requested_bytes"] != s["requested_bytes.all.peak"]:
        yield f"peak {e['devices'][0]['peak_requested_bytes']} != requested peak {s['requested_bytes.all.peak']}"


def finish(data_path, truth_path):
    """Add `expect`, more facts and the checks to one truth file; returns (truth, complaints)."""
    with gzip.open(data_path, "rb") as f:
        snap = json.load(f) if data_path.endswith(".json.gz") else pickle.load(f)  # our own recording
    with open(truth_path) as f:
        t = json.load(f)
    script = t["script"]
    t["expect"], t["facts"] = expect.expect(snap), expect.extra(snap)
    lines = live_by_line(snap, script)
    t["live_by_line"] = [{"line": l, "bytes": n} for l, n in lines.most_common(8)]
    bad = list(check_books(t, snap))
    if t["verdict"] == "leak" or t.get("oom_cause") == "leak":
        bad += check_leak(t, lines)
    if t["verdict"] == "oom":
        bad += check_oom(t, snap, script)
    if t["verdict"] == "healthy":
        bad += check_healthy(t)
    if os.path.getsize(data_path) > WARN_GZ:
        bad.append(f"large file: {os.path.getsize(data_path)} bytes")
    t["complaints"] = bad
    with open(truth_path, "w") as f:
        json.dump(t, f, indent=1)
    return t, bad


def execute(script, timeout, out, jobs):
    env = dict(os.environ, FIX_OUT=out, CORPUS_JOBS=str(jobs), TORCHINDUCTOR_CACHE_DIR=os.path.join(out, "inductor"),
               TRITON_CACHE_DIR=os.path.join(out, "triton"), TORCHINDUCTOR_COMPILE_THREADS="1", OMP_NUM_THREADS="2")
    p = subprocess.Popen([sys.executable, script], cwd=HERE, env=env, text=True, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        return p.communicate(timeout=timeout)[0], p.returncode
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        return p.communicate()[0], "timeout"


def take(found, out, rows, name, seconds):
    """Move one case's files to DIR and make its rows of the table."""
    for truth in found:
        case = os.path.basename(truth)[:-len(".truth.json")]
        data = next(iter(glob.glob(f"{os.path.dirname(truth)}/{case}.*.gz")))
        try:
            t, bad = finish(data, truth)
            rows.append((case, "ok" if not bad else "CHECK", seconds, t["verdict"], t["events"], os.path.getsize(data), "; ".join(bad)))
        except Exception as e:  # the recording is kept even if our own reading of it fails
            rows.append((case, "UNREAD", seconds, "?", 0, os.path.getsize(data), f"{type(e).__name__}: {e}"))
        for f in (data, truth):
            shutil.move(f, os.path.join(out, os.path.basename(f)))


def run_case(name, out, jobs, deadline):
    rows, began = [], time.time()
    left = deadline - began
    if left < 5:
        return [(name, "LATE", 0, "", 0, 0, "no time left")]
    with tempfile.TemporaryDirectory(prefix=name) as tmp:
        limit = min(LONG_S if name in LONG else LIMIT_S, left)
        text, rc = execute(os.path.join(HERE, name + ".py"), limit, tmp, jobs)
        seconds = time.time() - began
        found = sorted(glob.glob(f"{tmp}/*.truth.json"))
        if rc == 77:
            rows.append((name, "SKIP", seconds, "", 0, 0, text.strip().splitlines()[-1][:200]))
        elif os.environ.get("CORPUS_DEVICE") == "cpu":
            rows.append((name, "dry" if rc == 0 else "FAIL", seconds, "", 0, 0, "" if rc == 0 else text.strip()[-300:]))
        elif not found:
            rows.append((name, "FAIL", seconds, "", 0, 0, f"rc {rc}: " + " | ".join(text.strip().splitlines()[-4:])[-500:]))
        else:
            take(found, out, rows, name, seconds)
            if rc != 0:
                rows.append((name, "EXIT", seconds, "", 0, 0, f"files written, then rc {rc}: " + text.strip()[-200:]))
    return rows


def pack(out):
    """corpus.tar, complete at any moment; largest pickles are left out if it would pass 16 MiB."""
    files = sorted(glob.glob(f"{out}/*.gz") + glob.glob(f"{out}/*.truth.json") + glob.glob(f"{out}/summary.txt"), key=os.path.getsize)
    target = os.path.join(os.environ.get("OUT", out), "corpus.tar")
    total, left_out = 10240, []
    with tarfile.open(target + ".new", "w") as tar:
        for f in files:
            need = 512 + (os.path.getsize(f) + 511) // 512 * 512
            if total + need > TAR_MAX:
                left_out.append(os.path.basename(f))
                continue
            total += need
            tar.add(f, os.path.basename(f))
    os.replace(target + ".new", target)
    return target, left_out


def table(rows):
    lines = [f"{'case':28} {'state':7} {'s':>5} {'verdict':8} {'events':>7} {'gz':>8}  remarks"]
    for r in sorted(rows):
        lines.append(f"{r[0]:28} {r[1]:7} {r[2]:5.1f} {r[3]:8} {r[4]:7} {r[5]:8}  {r[6]}")
    states = collections.Counter(r[1] for r in rows)
    lines.append(f"{len(rows)} rows, {sum(r[5] for r in rows)} bytes gz; " + ", ".join(f"{v} {k}" for k, v in sorted(states.items())))
    return "\n".join(lines)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--out", required=True)
    ap.add_argument("--only", nargs="*", help="cases whose name begins with one of these")
    ap.add_argument("--jobs", type=int, default=6)
    ap.add_argument("--budget", type=float, default=330, help="seconds for everything")
    a = ap.parse_args()
    out, deadline = os.path.abspath(a.out), time.time() + a.budget
    os.makedirs(out, exist_ok=True)
    names = sorted(os.path.basename(p)[:-3] for p in glob.glob(f"{HERE}/[cx][0-9]*.py"))
    names = [n for n in names if not a.only or any(n.startswith(o) for o in a.only)]
    alone = [n for n in names if n.startswith(ALONE)]
    shared = sorted((n for n in names if n not in alone), key=lambda n: n not in LONG)  # long ones first
    rows, lock = [], threading.Lock()

    def one(name, jobs):
        try:
            got = run_case(name, out, jobs, deadline)
        except Exception as e:
            got = [(name, "DRIVER", 0, "", 0, 0, f"{type(e).__name__}: {e}")]
        with lock:
            rows.extend(got)
            for r in got:
                print(f"[{time.time() - deadline + a.budget:5.0f} s] {r[0]:28} {r[1]:7} {r[4]:7} {r[5]:8} {r[6][:120]}", flush=True)
            if os.environ.get("CORPUS_DEVICE") != "cpu":
                pack(out)

    for name in alone:
        one(name, 1)
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        list(pool.map(lambda n: one(n, a.jobs), shared))
    text = table(rows)
    print(text, flush=True)
    if os.environ.get("CORPUS_DEVICE") != "cpu":
        with open(f"{out}/summary.txt", "w") as f:
            f.write(text + "\n")
        target, left_out = pack(out)
        print(target, os.path.getsize(target), "bytes", f"LEFT OUT: {left_out}" if left_out else "")
    return any(r[1] not in ("ok", "dry", "SKIP") for r in rows)


if __name__ == "__main__":
    sys.exit(main())
