#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Watching: own process, another one, a command with its children; Ctrl+C; alerts; bundles when memory runs out."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time

import tap

BUILD = os.environ["STORMLOG_BUILD"]
GPUMEMPROF, TFMEMPROF = os.path.join(BUILD, "gpumemprof"), os.path.join(BUILD, "tfmemprof")
MIB = 1 << 20
FIELDS = ["schema_version", "timestamp_ns", "event_type", "collector", "sampling_interval_ms", "pid", "host", "job_id", "rank",
          "local_rank", "world_size", "device_id", "allocator_allocated_bytes", "allocator_reserved_bytes",
          "allocator_active_bytes", "allocator_inactive_bytes", "allocator_change_bytes", "device_used_bytes",
          "device_free_bytes", "device_total_bytes", "context", "metadata"]

# Holds the given MiB in a child process until its standard input closes.
HOLD = ("import sys, subprocess, os\n"
        "held = bytearray(int(sys.argv[1]) << 20)\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n")


def has_card():
    return "Detected Backend: cuda" in tap.run([GPUMEMPROF, "info"]).stdout


def load(path):
    records = json.load(open(path))
    for record in records:
        tap.equal(list(record), FIELDS, "fields")
    return records


@tap.test("track writes a JSON array: a start event, one sample per interval, a stop event")
def _(folder):
    out = os.path.join(folder, "not", "yet", "events.json")
    result = tap.run([GPUMEMPROF, "track", "--duration", "1", "--interval", "0.1", "--output", out, "--format", "json",
                      "--job-id", "j", "--rank", "1", "--world-size", "2"])
    tap.equal(result.returncode, 0, f"exit code ({result.stdout})")
    for part in ("Tracking Summary:", "Total events:", "Peak memory:", f"Events saved to: {out}"):
        tap.contains(result.stdout, part)
    records = load(out)
    tap.equal((records[0]["event_type"], records[-1]["event_type"]), ("start", "stop"), "frame")
    tap.true(sum(r["event_type"] == "sample" for r in records) >= 2, "samples")
    tap.true(all((r["job_id"], r["rank"], r["local_rank"], r["world_size"]) == ("j", 1, 1, 2) for r in records), "identity")
    tap.equal(os.listdir(os.path.dirname(out)), ["events.json"], "nothing else is left")
    tap.true(all(a["timestamp_ns"] <= b["timestamp_ns"] for a, b in zip(records, records[1:])), "ascending times")


@tap.test("track -- CMD returns the command's exit code, counts its children's memory, and writes CSV by default")
def _(folder):
    if has_card():
        tap.skip("this machine watches its card")
    out = os.path.join(folder, "events.csv")
    child = f"import time; held = bytearray(150 << 20); time.sleep(1.2)"
    result = tap.run([GPUMEMPROF, "track", "--interval", "0.05", "--output", out, "--", "sh", "-c",
                      f"{sys.executable} -c '{child}'; exit 7"])
    tap.equal(result.returncode, 7, "exit code")
    rows = list(csv.DictReader(open(out)))
    tap.equal(list(rows[0]), FIELDS, "columns")
    peak = max(int(row["allocator_allocated_bytes"]) for row in rows)
    tap.true(150 * MIB < peak < 400 * MIB, f"peak {peak} counts the child")
    tap.true(all(json.loads(row["metadata"]) is not None for row in rows), "metadata is JSON")


@tap.test("track --pid watches another process and ends with it")
def _(folder):
    if has_card():
        tap.skip("this machine watches its card")
    out = os.path.join(folder, "events.json")
    other = subprocess.Popen([sys.executable, "-c", HOLD, "120"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    other.stdout.readline()
    watcher = subprocess.Popen([GPUMEMPROF, "track", "--pid", str(other.pid), "--interval", "0.05", "--output", out, "--format",
                                "json"], stdout=subprocess.PIPE, text=True)
    part = out + ".part.jsonl"
    while not os.path.exists(part) or open(part).read().count('"sample"') < 3:
        tap.true(watcher.poll() is None, "the watcher goes on")
        time.sleep(0.02)
    other.stdin.close()
    other.wait()
    stdout = watcher.communicate(timeout=30)[0]
    tap.equal(watcher.returncode, 0, f"exit code ({stdout})")
    records = load(out)
    tap.true(max(r["allocator_allocated_bytes"] for r in records) > 120 * MIB, "the other's memory")
    tap.true(all(r["pid"] == other.pid for r in records), "the other's number")
    tap.true(not any(r["event_type"] == "deallocation" and r["allocator_allocated_bytes"] == 0 for r in records),
             "its end is not a freed everything")


@tap.test("after Ctrl+C the summary and the file are still written, with exit code 0")
def _(folder):
    out = os.path.join(folder, "events.json")
    for program, words in ((GPUMEMPROF, ["--format", "json"]), (TFMEMPROF, [])):
        process = subprocess.Popen([program, "track", "--interval", "0.05", "--output", out, *words], stdout=subprocess.PIPE,
                                   text=True)
        while not os.path.exists(out + ".part.jsonl") or "sample" not in open(out + ".part.jsonl").read():
            tap.true(process.poll() is None, "it goes on")
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        stdout = process.communicate(timeout=30)[0]
        tap.equal(process.returncode, 0, f"exit code ({stdout})")
        tap.true("Summary" in stdout or "Results" in stdout, "a summary")
        tap.true(os.path.exists(out), "the file")
        os.unlink(out)


@tap.test("a tracker that was killed leaves records that can be read")
def _(folder):
    out = os.path.join(folder, "events.json")
    process = subprocess.Popen([GPUMEMPROF, "track", "--interval", "0.02", "--output", out], stdout=subprocess.DEVNULL)
    part = out + ".part.jsonl"
    while not os.path.exists(part) or open(part).read().count("\n") < 5:
        tap.true(process.poll() is None, "it goes on")
        time.sleep(0.02)
    process.kill()
    process.wait()
    result = tap.run([GPUMEMPROF, "analyze", "--skip-bad", part])
    tap.equal(result.returncode, 0, f"exit code ({result.stdout})")
    tap.contains(result.stdout, "Verdict: ")


@tap.test("an alert is raised once while the value stays above the threshold")
def _(folder):
    if has_card():
        tap.skip("this machine watches its card")
    out = os.path.join(folder, "events.json")
    code = "import time; held = bytearray(60 << 20); time.sleep(1.0)"
    result = tap.run([GPUMEMPROF, "track", "--interval", "0.05", "--output", out, "--format", "json", "--warning-threshold",
                      "0.05", "--critical-threshold", "90", "--", sys.executable, "-c", code])
    tap.equal(result.returncode, 0, "exit code")
    alerts = [r for r in load(out) if r["event_type"] == "warning" and "usage_percent" in r["metadata"]]
    tap.equal(len(alerts), 1, "alerts")
    tap.true(alerts[0]["metadata"]["usage_percent"] >= 0.05, "percent")
    tap.contains(result.stdout, "WARNING: ")


def bundles(folder):
    return sorted(name for name in os.listdir(folder) if name.startswith("oom_dump_"))


@tap.test("a command that runs out of memory leaves a bundle that can be read")
def _(folder):
    code = ("import sys, time; time.sleep(0.3); "
            "sys.stderr.write('Traceback:\\n  File x\\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate "
            "64.00 MiB. GPU 0 has a total capacity of 139.80 GiB of which 1.00 GiB is free.\\n'); sys.exit(1)")
    dumps = os.path.join(folder, "dumps")
    result = tap.run([GPUMEMPROF, "track", "--interval", "0.05", "--oom-flight-recorder", "--oom-dump-dir", dumps, "--",
                      sys.executable, "-c", code])
    tap.equal(result.returncode, 1, f"exit code ({result.stdout})")
    tap.contains(result.stderr, "CUDA out of memory", "the error output is passed on")
    name, = bundles(dumps)
    path = os.path.join(dumps, name)
    tap.equal(sorted(os.listdir(path)), ["environment.json", "events.json", "manifest.json", "metadata.json"], "files")
    manifest = json.load(open(os.path.join(path, "manifest.json")))
    tap.equal((manifest["schema_version"], manifest["bundle_name"], manifest["reason"]),
              (1, name, "torch.cuda.OutOfMemoryError"), "manifest")
    metadata = json.load(open(os.path.join(path, "metadata.json")))
    tap.equal((metadata["exception_type"], metadata["exception_module"]), ("OutOfMemoryError", "torch.cuda"), "exception")
    events = json.load(open(os.path.join(path, "events.json")))
    tap.equal(len(events), manifest["event_count"], "events")
    tap.equal(list(events[0]), ["timestamp", "event_type", "memory_allocated", "memory_reserved", "memory_change", "device_id",
                                "context", "job_id", "rank", "local_rank", "world_size", "metadata", "active_memory",
                                "inactive_memory", "device_used", "device_free", "device_total", "backend"], "names")
    report = json.loads(tap.run([os.path.join(BUILD, "stormlog"), "analyze", "--format", "json", path]).stdout)
    tap.equal(report["verdict"], "oom", "verdict")
    tap.equal(report["oom"]["requested_bytes"], 64 * MIB, "request")


@tap.test("retention keeps the newest bundles within the limits, and always the newest one")
def _(folder):
    code = "import sys; sys.stderr.write('RuntimeError: CUDA out of memory\\n'); sys.exit(1)"
    for limits in (["--oom-max-dumps", "2"], ["--oom-max-total-mb", "0", "--oom-max-dumps", "1"]):
        for _ in range(3):
            tap.run([GPUMEMPROF, "track", "--interval", "0.05", "--oom-flight-recorder", "--oom-dump-dir", folder, *limits, "--",
                     sys.executable, "-c", code])
        tap.equal(len(bundles(folder)), int(limits[-1]) if limits[0] == "--oom-max-dumps" else 1, f"bundles with {limits}")
    other = os.path.join(folder, "oom_dump_large")
    os.mkdir(other)
    open(os.path.join(other, "big"), "wb").write(b"x" * (2 * MIB))
    tap.run([GPUMEMPROF, "track", "--interval", "0.05", "--oom-flight-recorder", "--oom-dump-dir", folder, "--oom-max-total-mb",
             "1", "--", sys.executable, "-c", code])
    left = bundles(folder)
    tap.true("oom_dump_large" not in left, "what does not fit goes")
    tap.true(left, "the newest stays")
    tap.true(not [name for name in os.listdir(folder) if name.startswith(".")], "nothing half-written")


@tap.test("a command that fails for another reason leaves no bundle")
def _(folder):
    tap.run([GPUMEMPROF, "track", "--interval", "0.05", "--oom-flight-recorder", "--oom-dump-dir", folder, "--", sys.executable,
             "-c", "import sys; sys.stderr.write('ValueError: no\\n'); sys.exit(1)"])
    tap.equal(bundles(folder), [], "bundles")


@tap.test("monitor prints a summary and writes a file, also for the host's memory")
def _(folder):
    out = os.path.join(folder, "m.json")
    result = tap.run([GPUMEMPROF, "monitor", "--duration", "1", "--interval", "0.1", "--output", out, "--format", "json"])
    tap.equal(result.returncode, 0, "exit code")
    for part in ("Mode: ", "Monitoring Summary:", "-" * 30, "Snapshots collected:", "Peak memory usage:",
                 "Memory change from baseline:"):
        tap.contains(result.stdout, part)
    tap.true("Snapshots collected: 0" not in result.stdout, "snapshots")
    load(out)


@tap.test("tfmemprof track writes an object that analyze can read")
def _(folder):
    out = os.path.join(folder, "t.json")
    code = "import time\nheld = []\nfor i in range(14):\n    held.append(bytearray(20 << 20)); time.sleep(0.1)"
    result = tap.run([TFMEMPROF, "track", "--output", out, "--interval", "0.1", "--device", "/CPU:0", "--threshold", "100", "--",
                      sys.executable, "-c", code])
    tap.equal(result.returncode, 0, f"exit code ({result.stdout})")
    data = json.load(open(out))
    tap.equal(list(data), ["peak_memory", "average_memory", "duration", "memory_usage", "timestamps", "alerts", "events"], "keys")
    tap.equal(len(data["memory_usage"]), len(data["timestamps"]), "lengths")
    tap.equal(len(data["alerts"]), 1, "alerts")
    tap.equal(data["events"][0]["collector"], "stormlog.tensorflow.memory_tracker", "collector")
    tap.equal(tap.run([TFMEMPROF, "analyze", "--input", out, "--detect-leaks"]).returncode, 0, "exit code of analyze")


OWN = "Watching this process itself; --pid PID or -- CMD watch another one."

# What version 0.2.9 of the Python tool prints on a host without a card: a line each, figures as N, with the one line of our own.
LINES = {
    "gpumemprof track --duration 1 --interval 0.1": f"""Starting real-time memory tracking...
Device: current
Sampling interval: 0.1s
Duration: 1.0s
Press Ctrl+C to stop

{OWN}
Running CPU memory tracker (no GPU backend available).
Elapsed: N.Ns, Memory: N.N MB (N.N%), Peak: N.N MB

Tracking Summary:
------------------------------
Total events: N
Peak memory: N.N MB
""",
    "gpumemprof monitor --duration 1 --interval 0.25": f"""Starting memory monitoring for 1.0 seconds...
Mode: CPU
Sampling interval: 0.25s
{OWN}
Press Ctrl+C to stop early

Elapsed: N.Ns, Current Memory: N.N MB

Monitoring Summary:
------------------------------
Snapshots collected: N
Peak memory usage: N.N MB
Memory change from baseline: N.N MB
""",
    "tfmemprof monitor --duration 1 --interval 0.1 --threshold 9999": f"""Starting TensorFlow memory monitoring...
Sampling interval: 0.1 seconds
Duration: 1.0 seconds
Alert threshold: 9999.0 MB
{OWN}
Press Ctrl+C to stop

\rCurrent memory usage: N.N MB
Monitoring Results:
--------------------
Peak Memory: N.N MB
Average Memory: N.N MB
Duration: N.N seconds
Samples Collected: N
""",
    "tfmemprof track --duration 1 --interval 0.1 --output out.json": f"""Starting background memory tracking...
{OWN}
Tracking started. Press Ctrl+C to stop and save results.
Current memory: N.N MB
Results saved to out.json

Tracking completed. Peak memory: N.N MB
""",
}

for _words, _lines in LINES.items():

    @tap.test(f"the lines of {_words}")
    def _(folder, words=_words, lines=_lines):
        if has_card():
            tap.skip("this machine watches its card")
        program, *rest = words.split()
        # Bytes: text mode would turn the \r into a line break.
        printed = subprocess.run([os.path.join(BUILD, program), *rest], cwd=folder, stdout=subprocess.PIPE).stdout.decode()
        given = {word for word in words.split() if word[0].isdigit()} | {"1.0", "9999.0"}

        def figure(match):
            is_given = match.group() in given and match.string[:match.start()].endswith(
                ("interval: ", "for ", "Duration: ", "threshold: ")) and "Results" not in match.string[:match.start()]
            return match.group() if is_given else re.sub(r"\d+", "N", match.group())

        tap.equal(re.sub(r"-?\d+(\.\d+)?", figure, printed).replace("-N", "N"), lines, "lines")


@tap.test("a watch shorter than its interval has one reading, and a peak")
def _(folder):
    for words in (["monitor", "--duration", "0"], ["track", "--duration", "0.05", "--interval", "5"]):
        printed = tap.run([GPUMEMPROF, *words]).stdout
        summary = printed[printed.index("Summary:"):]
        tap.true(not re.search(r"[Pp]eak memory[a-z ]*: 0\.00", summary) or has_card(), printed)
    tap.contains(tap.run([GPUMEMPROF, "monitor", "--duration", "0"]).stdout, "Snapshots collected: 1\n")


@tap.test("the contexts of the records on a host are those of the Python tool")
def _(folder):
    if has_card():
        tap.skip("this machine watches its card")
    out = os.path.join(folder, "events.json")
    tap.run([GPUMEMPROF, "track", "--interval", "0.05", "--output", out, "--format", "json", "--", sys.executable, "-c",
             "import time; time.sleep(0.3); held = bytearray(80 << 20); time.sleep(0.3); del held; time.sleep(0.3)"])
    contexts = {r["event_type"]: re.sub(r"[\d.]+ [KMG]?B", "SIZE", r["context"]) for r in load(out) if r["context"]}
    tap.equal(contexts, {"start": "CPU memory tracking started", "peak": "New CPU peak RSS: SIZE", "allocation": "RSS increased by SIZE",
                         "deallocation": "RSS decreased by SIZE", "stop": "CPU memory tracking stopped"}, "contexts")


tap.main()
