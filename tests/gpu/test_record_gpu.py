# SPDX-License-Identifier: MIT
"""The recorder against torch's own counters on a real device. Argument: the program.

Each case runs tests/gpu/programs_gpu.py under `stormlog run` in a process of its own. With STORMLOG_GPU_TABLE set, the
measured numbers go there as a Markdown table.
"""

import json
import os
import signal
import subprocess
import sys
import time

import slog_totals
import tap
from device import find_python, need_device

stormlog = os.path.abspath(sys.argv.pop(1))
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "programs_gpu.py")
LIBRARY = os.path.join(os.path.dirname(stormlog), "libstormlog_record.so")
LEAK_BYTES = 4096 * 4

rows = []


def record(folder, case, env=None, options=()):
    need_device()
    out = os.path.join(folder, "run")
    started = time.monotonic()
    result = tap.run([stormlog, "run", "-o", out, *options, "--", find_python(), PROGRAM, case],
                     timeout=180, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})})
    tap.equal(result.returncode, 0, f"exit code; stderr: {result.stderr[-2000:]}")
    totals = slog_totals.load_all(out)
    tap.equal(len(totals), 1, f"recordings; stderr: {result.stderr[-2000:]}")
    facts = json.loads(result.stdout.splitlines()[-1])
    return facts, totals[0], time.monotonic() - started


def line_of(mark):
    with open(PROGRAM) as file:
        return next(i for i, line in enumerate(file, 1) if line.rstrip().endswith("# " + mark))


def losses(totals):
    return {name: count for name, count in totals.health.items() if count and name not in ("sample_failure",)}


def compare(case, facts, totals, names=("allocs", "frees", "alloc_bytes", "free_bytes", "live_bytes", "peak_bytes")):
    found = {
        "allocs": totals.sum("alloc_cnt", 0), "frees": totals.sum("free_cnt", 0),
        "alloc_bytes": totals.sum("alloc_bytes", 0), "free_bytes": totals.sum("free_bytes", 0),
        "live_bytes": totals.sum("live_bytes", 0), "peak_bytes": totals.peak("allocated", 0),
        "reserved_peak_bytes": totals.peak("reserved", 0),
    }
    for name in names:
        rows.append((case, name, facts[name], found[name]))
    tap.equal({name: found[name] for name in names}, {name: facts[name] for name in names}, "recorder against torch")
    tap.equal(losses(totals), {}, "health")


def driver_bytes(totals):
    """Live bytes of the driver's functions by calling library."""
    found = {}
    for site in totals.select(0, slog_totals.DRIVER):
        found[site.label] = found.get(site.label, 0) + site.live_bytes
    return found


def compare_segments(case, facts, totals):
    """What torch holds in reserve must be what its libraries took from the driver."""
    found = driver_bytes(totals)
    torch_bytes = sum(size for label, size in found.items() if label in ("libcudart", "libc10_cuda"))
    for label, size in sorted(found.items()):
        rows.append((case, f"driver, by {label}", "", size))
    rows.append((case, "reserved against driver", facts["reserved_bytes"], torch_bytes))
    tap.equal(torch_bytes, facts["reserved_bytes"], f"bytes torch's libraries took from the driver; all: {found}")


@tap.test("tags: bytes of parameters, gradients and optimizer state equal torch's exactly")
def _(folder):
    facts, totals, _ = record(folder, "tags", options=("--modules",))
    report = json.loads(tap.run([stormlog, "analyze", "--format", "json", totals.path]).stdout)
    device = next(row for row in report["devices"] if row["device"] == 0)
    found = {row["tag"]: row["bytes"] for row in device["live_by_tag"]}
    for tag in ("parameter", "gradient", "optimizer state"):
        rows.append(("tags", tag, facts[tag], found.get(tag, 0)))
    for tag in ("input", "activation", "other", "workspace", "unknown"):
        rows.append(("tags", tag, "", found.get(tag, 0)))
    tap.equal([found.get(tag) for tag in ("parameter", "gradient", "optimizer state")],
              [facts[tag] for tag in ("parameter", "gradient", "optimizer state")], f"bytes by tag; all: {found}")
    tap.true(found.get("activation", 0) < 1 << 20, f"a library's workspace, made in a forward pass, is no activation: {found}")
    tap.true(found["workspace"] >= 8 << 20, f"it has a row of its own: {found}")
    tap.true(found.get("input", 0) < found["other"] <= facts["kept"], f"nor is what the program collects an input: {found}")
    paths = {function for site in totals.sites for function, file, _ in site.stack if file == "<module>"}
    tap.true({"0.up", "3.down"} <= paths, f"module paths: {sorted(paths)}")


@tap.test("training: allocations, bytes, live and peak equal torch's; the leak has its line; steps are found")
def _(folder):
    facts, totals, _ = record(folder, "train")
    compare("train", facts, totals)
    rows.append(("train", "torch / python", facts["torch"], facts["python"]))
    tap.equal(totals.steps, list(range(1, 31)), "steps")
    sites = totals.at_line("programs_gpu.py", line_of("leak"))
    tap.equal([(site.alloc_cnt, site.live_bytes) for site in sites], [(30, 30 * LEAK_BYTES)], "the leaking line")
    tap.equal([frame[0] for frame in sites[0].stack], ["train", "case_train", "<module>"], "its stack")
    compare_segments("train", facts, totals)
    every, mapped = (totals.counters.get((name, -1), (None,))[0] for name in ("backward_bytes", "backward_mapped_bytes"))
    rows.append(("train", "backward bytes with a forward line", every, mapped))
    tap.true(every and mapped / every > 0.9, f"backward allocations name their forward line: {mapped} of {every} bytes")
    shown = sum(site.alloc_bytes for site in totals.select(0) if site.stack)
    rows.append(("train", "bytes with a Python stack", totals.sum("alloc_bytes", 0), shown))


def read_events(totals, *options):
    result = tap.run([stormlog, "cat", "--format", "json", *options, totals.path], timeout=180)
    tap.equal(result.returncode, 0, result.stderr[-2000:])
    return [json.loads(line) for line in result.stdout.splitlines()]


def functions(event):
    return [frame["function"] for frame in event["frames"]]


def has_line(event, line=None):
    return any((frame["file"] or "").endswith("programs_gpu.py") and line in (None, frame["line"]) for frame in event["frames"])


@tap.test("a request that fails in the backward pass is reported with its forward line")
def _(folder):
    facts, totals, _ = record(folder, "backward_oom")
    ooms = [event for event in read_events(totals, "--stacks") if event["kind"] == "oom"]
    backward = [event for event in ooms if not event["frames"] or (functions(event)[0] or "").startswith("<backward")]
    forward_line = [event for event in backward if has_line(event, line_of("forward pass"))]
    rows.append(("backward_oom", "failed in the forward / backward pass", facts["forward"], facts["backward"]))
    rows.append(("backward_oom", "backward failures with their forward line", len(backward), len(forward_line)))
    tap.true(facts["backward"] >= 10, f"failures in the backward pass: {facts}")
    tap.equal(len(ooms), facts["ooms"], "requests that failed")
    tap.equal(len(backward), facts["backward"], "requests that failed in the backward pass")
    tap.true(len(forward_line) >= 0.95 * len(backward), f"with a forward line: {len(forward_line)} of {len(backward)}; the others: "
             f"{[functions(event)[:3] for event in backward if event not in forward_line][:5]}")


def check_backward(case, folder, share):
    """Every backward allocation has a line of the program, and `share` of their bytes the forward one."""
    facts, totals, _ = record(folder, case)
    allocs = [event for event in read_events(totals, "--stacks") if event["kind"] == "alloc" and event["device"] == 0]
    nameless = [event for event in allocs if not has_line(event)]
    bytes_of = lambda events: sum(event["size"] for event in events)
    every, mapped = (totals.counters.get((name, -1), (None,))[0] for name in ("backward_bytes", "backward_mapped_bytes"))
    rows.append((case, "bytes allocated / without a line of the program", bytes_of(allocs), bytes_of(nameless)))
    rows.append((case, "backward bytes with a forward line", every, mapped))
    tap.true(bytes_of(nameless) < 0.01 * bytes_of(allocs), f"bytes without a line: {bytes_of(nameless)} of {bytes_of(allocs)}, "
             f"first: {[(event['size'], functions(event)) for event in nameless[:3]]}")
    tap.true(every and mapped >= share * every, f"bytes with a forward line: {mapped} of {every}")
    return facts, totals, allocs


@tap.test("forward and backward inside the optimizer's step have the same phases and lines as outside it")
def _(folder):
    _, totals, allocs = check_backward("closure", folder, 0.95)
    by_tag = {}
    for event in allocs:
        by_tag[event["tag"]] = by_tag.get(event["tag"], 0) + event["size"]
    tap.true(by_tag.get("optimizer", 0) < by_tag["backward"] and by_tag["forward"] > 0, f"bytes by phase: {by_tag}")
    tap.equal(totals.steps, [1, 2, 3, 4, 5], "steps")


@tap.test("checkpoints: the recomputed forward pass, and its backward pass, have their lines")
def _(folder):
    check_backward("checkpoint", folder, 0.95)


@tap.test("the backward pass of a compiled model has the line that called the model")
def _(folder):
    check_backward("compile", folder, 0.9)


@tap.test("cuBLAS's workspaces have their own tag, with the exact bytes")
def _(folder):
    facts, totals, _ = record(folder, "workspace")
    found = sum(event["size"] for event in read_events(totals) if event["kind"] == "alloc" and event["tag"] == "workspace")
    rows.append(("workspace", "bytes of cuBLAS's workspaces", facts["workspace"], found))
    tap.true(facts["workspace"] > 0, "torch has workspaces")
    tap.equal(found, facts["workspace"], "bytes tagged as workspace, and given back when they are cleared")


@tap.test("without an optimizer, parameters are not tagged as input")
def _(folder):
    facts, totals, _ = record(folder, "infer")
    report = json.loads(tap.run([stormlog, "analyze", "--format", "json", totals.path]).stdout)
    device = next(row for row in report["devices"] if row["device"] == 0)
    found = {row["tag"]: row["bytes"] for row in device["live_by_tag"]}
    for tag, size in sorted(found.items()):
        rows.append(("infer", tag, "", size))
    tap.equal(found.get("parameter"), facts["model"], f"what the module was built with: {found}")
    tap.equal(found.get("input"), facts["batch"], f"the last batch and its result: {found}")
    tap.true(found.get("workspace", 0) > 0, f"cuBLAS's workspace: {found}")


@tap.test("with expandable segments the numbers equal torch's")
def _(folder):
    conf = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "PYTORCH_ALLOC_CONF": "expandable_segments:True"}
    facts, totals, _ = record(folder, "train", env=conf)
    compare("expandable", facts, totals)
    compare_segments("expandable", facts, totals)


@tap.test("steps of SGD without momentum are found although it allocates nothing")
def _(folder):
    facts, totals, _ = record(folder, "sgd")
    compare("sgd", facts, totals)
    tap.equal(totals.steps, list(range(1, 11)), "steps")


@tap.test("with torch.compile the numbers and steps are right, and its compiler processes leave no recordings")
def _(folder):
    facts, totals, _ = record(folder, "compile")
    compare("torch.compile", facts, totals)
    tap.equal(totals.steps, list(range(1, 11)), "steps")
    shown = sum(site.alloc_bytes for site in totals.select(0) if site.stack)
    rows.append(("torch.compile", "bytes with a Python stack", totals.sum("alloc_bytes", 0), shown))


@tap.test("with several streams the numbers equal torch's")
def _(folder):
    facts, totals, _ = record(folder, "streams")
    compare("streams", facts, totals)


@tap.test("a failed request is recorded although the program continues")
def _(folder):
    facts, totals, _ = record(folder, "oom")
    tap.equal(facts["caught"], 2, "caught by the program")
    tap.equal(len(totals.ooms), facts["ooms"], "out-of-memories recorded, and counted by torch")
    oom = totals.ooms[0]
    tap.equal((oom["device"], oom["requested"]), (0, facts["requested"]))
    tap.equal(oom["allocated"], facts["live_bytes"], "allocated at that moment")
    tap.equal((oom["stack"][0][0], oom["stack"][0][2]), ("case_oom", line_of("oom")), "where")
    tap.true(len(oom["holders"]) > 3, "the sites that held most are kept with it")
    rows.append(("oom", "recorded", facts["ooms"], len(totals.ooms)))


@tap.test("nothing that was published before a SIGKILL is lost")
def _(folder):
    need_device()
    out = os.path.join(folder, "run")
    process = subprocess.Popen([stormlog, "run", "-o", out, "--", find_python(), PROGRAM, "kill"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    last = 0
    while last < 20000:
        last = int(process.stdout.readline() or 1e9)
    os.kill(slog_totals.load_all(out)[0].pid, signal.SIGKILL)
    last = int((process.stdout.read().split() or [last])[-1])
    process.wait(60)
    totals = slog_totals.load_all(out)[0]
    found = totals.sum("alloc_cnt", 0)
    rows.append(("kill -9", "allocations", last, found))
    tap.true(found in (last, last + 1), f"{found} recorded, {last} told")
    tap.equal(process.returncode, 128 + signal.SIGKILL, "exit code")


@tap.test("the device's counters are recorded: used, total, this process")
def _(folder):
    facts, totals, _ = record(folder, "counters")
    counters = totals.counters
    used, total = counters[("device_used", 0)][0], counters[("device_total", 0)][0]
    rows.append(("counters", "device used", facts["total"] - facts["free"], used))
    rows.append(("counters", "this process", "at least 1 GiB", counters[("process_used", 0)]))
    rows.append(("counters", "other processes", "", counters.get(("other_processes", 0))))
    tap.true(used and used >= 1 << 30, f"used bytes of the card: {counters}")
    tap.true(total and total >= facts["total"] * 0.98, f"total bytes of the card {total}, torch says {facts['total']}")
    value, why = counters[("process_used", 0)]
    tap.true(why or value >= 1 << 30, f"bytes of this process, or a reason: {value} {why}")


@tap.test("torch.profiler sees the same memory events with and without the recorder")
def _(folder):
    need_device()
    alone = tap.run([find_python(), PROGRAM, "profiler"], timeout=120)
    tap.equal(alone.returncode, 0, alone.stderr[-2000:])
    facts, _, _ = record(folder, "profiler")
    expected = json.loads(alone.stdout.splitlines()[-1])["events"]
    tap.true(len(expected) > 3, "the profiler sees events at all")
    tap.equal(facts["events"], expected)
    rows.append(("profiler", "memory events", len(expected), len(facts["events"])))


@tap.test("recording can be started in a process that already uses the device")
def _(folder):
    need_device()
    result = tap.run([find_python(), PROGRAM, "late"], timeout=120,
                     env={**os.environ, "RECORD_LIBRARY": LIBRARY, "STORMLOG_DIR": folder})
    tap.equal(result.returncode, 0, result.stderr[-2000:])
    facts = json.loads(result.stdout.splitlines()[-1])
    tap.equal(facts["error"], 0, f"result of sl_record_start; stderr: {result.stderr[-2000:]}")
    totals = slog_totals.load_all(folder)
    tap.equal(len(totals), 1, "recordings")
    tap.equal((totals[0].sum("alloc_cnt", 0), totals[0].sum("alloc_bytes", 0)), (facts["allocs"], facts["alloc_bytes"]))
    tap.equal(totals[0].steps, list(range(1, 6)), "steps")
    tap.true(totals[0].is_closed, "closed by stop")
    rows.append(("late start", "allocations", facts["allocs"], totals[0].sum("alloc_cnt", 0)))


def write_table():
    path = os.environ.get("STORMLOG_GPU_TABLE")
    if not path:
        return
    with open(path, "w") as file:
        file.write("| case | what | torch | recorder |\n| --- | --- | --- | --- |\n")
        for row in rows:
            file.write("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row) + " |\n")


try:
    tap.main()
finally:
    write_table()
