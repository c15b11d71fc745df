#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Precision and recall of the findings over labelled runs. Arguments: the bench_findings program, stormlog.

Real runs: tests/data/h200 and tests/data/corpus, each with NAME.truth.json. Synthetic runs: every habit of tests/lib/synth.h
with several seeds. A leak counts as found when the verdict names it and one finding is on an accepted line. The real runs are also
scored as telemetry, which has neither stacks nor steps: there a leak counts as found when any finding reports one.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEEDS = 24


def run(program, *arguments):
    out = subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def lines_of(site):
    return [(os.path.basename(file), line) for file, line in site]


def leak_hits(report, script, accepted):
    """Leak findings whose user's line is accepted, and the other leak findings."""
    hits, misses = [], []
    for f in report["findings"]:
        if f["kind"] == "leak":
            first = lines_of(f["site"])[:1]
            (hits if first and first[0][0] == script and first[0][1] in accepted else misses).append(f)
    return hits, misses


def judge_real(truth, report):
    """Problems of one report, as words."""
    problems = []
    accepted = set(truth.get("accept_lines", [])) | set(truth["leak_lines"])
    hits, misses = leak_hits(report, truth["script"], accepted)
    if report["verdict"] not in truth.get("accept_verdicts", [truth["verdict"]]):
        problems.append(f"verdict {report['verdict']}, want {truth['verdict']}")
    if truth["verdict"] == "leak" and not hits and not truth.get("accept_no_line"):
        problems.append("no leak on an accepted line")
    if truth["verdict"] == "healthy" and (hits or misses):
        problems.append("leak in a healthy run")
    if truth["verdict"] == "leak" and misses and not truth.get("accept_no_line"):
        problems.append(f"leak on another line: {[lines_of(f['site'])[:1] for f in misses]}")
    kinds = truth.get("accept_kinds")
    if truth["verdict"] == "leak" and kinds and (hits or misses) and (hits + misses)[0]["subkind"] not in kinds:
        problems.append(f"kind {(hits + misses)[0]['subkind']}, want {kinds}")
    want = truth.get("leak_bytes_per_step")
    if truth["verdict"] == "leak" and want and (hits or misses):
        got = sum(f["bytes_per_step"] or 0 for f in hits + misses)
        if abs(got - want) > 0.05 * want:
            problems.append(f"{got:.0f} bytes a step, want {want:.0f}")
    if "oom_cause" in truth and report["cause"] not in truth.get("accept_causes", [truth["oom_cause"]]):
        problems.append(f"cause {report['cause']}, want {truth['oom_cause']}")
    return problems + judge_numbers(truth, report)


def judge_numbers(truth, report):
    problems = []
    expect = truth.get("expect", {"devices": []})
    for want in expect["devices"]:
        got = next((d for d in report["devices"] if d["device"] == want["device"]), {})
        problems += [f"{k} {got.get(k)}, want {v}" for k, v in want.items() if got.get(k) != v]
    for key in ("live_bytes", "reserved_bytes", "segments"):
        if key in expect and sum(d[key] or 0 for d in report["devices"]) != expect[key]:
            problems.append(f"{key} is not {expect[key]}")
    return problems


def labelled_runs():
    """(snapshot, truth) of each."""
    cases = []
    for folder in ("h200", "corpus"):
        for path in sorted(glob.glob(f"{ROOT}/tests/data/{folder}/*.truth.json")):
            truth = json.load(open(path))
            data = next((p for p in (path.replace(".truth.json", ".pickle.gz"), path.replace(".truth.json", ".json.gz"))
                         if os.path.exists(p)), None)
            if data and truth["verdict"] != "special":
                cases.append((data, truth))
    return cases


def wants_leak(truth):
    return truth["verdict"] == "leak" or truth.get("oom_cause") == "leak"


def score_real(program, cases):
    # An out-of-memory case is passed with the text of its error, which a user would have.
    reports = run(program, *[d + ("=" + t["message"] if t.get("message") else "") for d, t in cases])
    tp = fp = fn = tn = exact = 0
    for (path, truth), report in zip(cases, reports):
        problems = judge_real(truth, report)
        is_leak, has_leak = wants_leak(truth), any(f["kind"] == "leak" for f in report["findings"])
        tp += is_leak and has_leak
        fn += is_leak and not has_leak
        fp += not is_leak and has_leak
        tn += not is_leak and not has_leak
        exact += not problems
        for problem in problems:
            print(f"  {os.path.basename(path).split('.')[0]}: {problem}")
    show("recorded on the H200", tp, fp, fn, tn)
    print(f"  verdict, line, kind, bytes per step, cause and totals all right: {exact} of {len(cases)}")


def score_telemetry(stormlog, cases):
    found = {True: [], False: []}  # by the label of the run: whether a leak was found
    with tempfile.TemporaryDirectory() as folder:
        records = os.path.join(folder, "telemetry.jsonl")
        for path, truth in cases:
            subprocess.run([stormlog, "export", "--to", "telemetry-jsonl", "-o", records, path], capture_output=True, check=True)
            text = subprocess.run([stormlog, "analyze", "--format", "json", records], capture_output=True, check=True).stdout
            found[wants_leak(truth)].append(any(f["kind"] == "leak" for f in json.loads(text)["findings"]))
            os.unlink(records)
    show("the same runs, exported as telemetry", sum(found[True]), sum(found[False]), found[True].count(False), found[False].count(False))


def score_synthetic(program):
    tp = fp = fn = tn = 0
    wrong = {}
    for report in run(program, "--synthetic", str(SEEDS)):
        habit, is_leak, line, has_stacks, _ = report["name"].split("/")
        hits, misses = leak_hits(report, "train.py", {int(line)})
        found = bool(hits or (misses and has_stacks == "0"))
        ok = found and not (misses and has_stacks == "1") if is_leak == "1" else not (hits or misses)
        tp += is_leak == "1" and found
        fn += is_leak == "1" and not found
        fp += is_leak == "0" and bool(hits or misses)
        tn += is_leak == "0" and not (hits or misses)
        if not ok:
            wrong.setdefault(habit + ("" if has_stacks == "1" else " without stacks"), []).append(report["name"])
    for habit, names in wrong.items():
        print(f"  {habit}: {len(names)} of {SEEDS} wrong")
    show(f"made up, {SEEDS} seeds a habit, a quarter without stacks", tp, fp, fn, tn)


def show(title, tp, fp, fn, tn):
    precision, recall = tp / max(tp + fp, 1), tp / max(tp + fn, 1)
    print(f"{title}: leak precision {precision:.3f}, recall {recall:.3f} (tp {tp}, fp {fp}, fn {fn}, tn {tn})")


def main():
    program, stormlog = sys.argv[1:3]
    cases = labelled_runs()
    if cases:
        score_real(program, cases)
        score_telemetry(stormlog, cases)
    else:
        print("no labelled snapshots in tests/data: skipped")
    score_synthetic(program)
    for events in (100_000, 1_000_000):
        sys.stdout.write(subprocess.run([program, "--speed", str(events)], capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    main()
