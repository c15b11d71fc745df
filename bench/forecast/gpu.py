#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The forecast on a real card: gpu.py STORMLOG [RESULTS.json]. Prints a Markdown table.

Trainings of programs.py run under `stormlog run` at the same time, each with a share of the card as its limit; then one fills the
whole card beside a healthy one. The alerts are read as they appear on standard error; `stormlog top` is asked all the while.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get("STORMLOG_TORCH_PYTHON", sys.executable)
SECONDS = float(os.environ.get("FORECAST_SECONDS", "50"))  # the most that a program runs
SHARE = 0.045  # of the card, for each of the first programs
NO_CPU = [] if os.environ.get("FORECAST_DEVICE") == "cpu" else ["--no-cpu"]
LEAKS = ("leak", "varying", "graph", "tenth", "buffer", "serving")
HEALTHY = ("plain", "varying_batch", "evaluation", "bounded_cache", "epochs", "loading")


class Run(threading.Thread):
    def __init__(self, stormlog, folder, case, seconds, share):
        super().__init__()
        self.stormlog, self.out, self.case, self.seconds, self.share = stormlog, f"{folder}/{case}", case, seconds, share
        self.alerts, self.asked, self.result, self.other = [], [], {}, []

    def ask(self):
        shown = subprocess.run([self.stormlog, "top", "--format", "json", self.out], capture_output=True, text=True).stdout
        now = time.time()
        for recording in json.loads(shown or "[]"):
            for device in recording["devices"]:
                if device["device"] >= 0 and recording["ending"] == "live":
                    self.asked.append((now, device["forecast"], device["failure"]))

    def read(self, stream):
        for line in stream:
            if "out of memory in" in line:
                self.alerts.append((time.time(), line.strip()))
            else:
                self.other.append(line)

    def run(self):
        env = {**os.environ}
        if self.share:
            env["PYTORCH_ALLOC_CONF"] = f"per_process_memory_fraction:{self.share}"
        process = subprocess.Popen([self.stormlog, "run", "-o", self.out, *NO_CPU, "--", PYTHON, f"{HERE}/programs.py", self.case,
                                    str(self.seconds)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        reader = threading.Thread(target=self.read, args=(process.stderr,))
        reader.start()
        while process.poll() is None:
            time.sleep(1)
            self.ask()
        text = process.stdout.read()
        reader.join()
        self.result = json.loads(text.splitlines()[-1]) if text.strip() else {"failed": None, "problem": "".join(self.other)[-800:]}
        path = f"{self.out}/alerts.jsonl"
        self.lines = [json.loads(line) for line in open(path)] if os.path.exists(path) else []

    def summary(self):
        r = {"case": self.case, "share": self.share, **self.result, "alerts": self.alerts, "alerts_jsonl": self.lines,
             "asked": len(self.asked), "closing": self.other[-3:]}
        end = self.result.get("end_s", 0)
        r["ran_s"] = end - self.result.get("start_s", 0)
        said = [(end - now, f["seconds"], f["seconds_low"], f["seconds_high"], f["line"], f["grows"]) for now, f, _ in self.asked
                if f and now < end]
        r["forecasts"] = said
        r["last_failure"] = next((f for _, _, f in reversed(self.asked) if f), None)
        return r


def run_all(stormlog, folder, cases, seconds):
    runs = [Run(stormlog, folder, case, seconds, share) for case, share in cases]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    return [run.summary() for run in runs]


def row_of(r):
    lead = r["end_s"] - r["alerts"][0][0] if r["alerts"] else None
    first = r["alerts_jsonl"][0]["forecast"] if r["alerts_jsonl"] else None
    error = "" if not first or not r["failed"] else f"{100 * (first['seconds'] / lead - 1):+.0f} %"
    right = sum(low <= left <= high for left, _, low, high, *_ in r["forecasts"])
    cells = [r["case"], f"{'out of memory' if r['failed'] else 'healthy'} after {r['ran_s']:.0f} s",
             "" if lead is None else f"{lead:.0f} s ({100 * lead / r['ran_s']:.0f} %)", error,
             f"{right} of {len(r['forecasts'])}" if r["failed"] and r["forecasts"] else "",
             "" if not first else first["line"] if first["grows"] == "tensors" else first["grows"]]
    return "| " + " | ".join(cells) + " |"


def main():
    stormlog = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        rows = run_all(stormlog, folder, [(case, SHARE) for case in (*LEAKS, *HEALTHY)], SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        if os.environ.get("FORECAST_CARD", "1") != "0":
            rows += run_all(stormlog, folder, [("card", 0), ("neighbour", 0)], 0.8 * SECONDS)
    if len(sys.argv) > 2:
        json.dump(rows, open(sys.argv[2], "w"))
    print("| training | what happened | first alert before that | its error | `top` in range | because of |")
    print("| --- | --- | --- | --- | --- | --- |")
    for r in rows:
        print(row_of(r) if r["failed"] is not None else f"| {r['case']} | did not run: {r.get('problem')} | | | | |")
    failed = [r for r in rows if r["failed"] and r["alerts"]]
    if failed:
        leads = [r["end_s"] - r["alerts"][0][0] for r in failed]
        print(f"\n{len(failed)} of {sum(bool(r['failed']) for r in rows)} failures were announced, {statistics.median(leads):.0f} s"
              f" before them (median).")


if __name__ == "__main__":
    main()
