# SPDX-License-Identifier: MIT
"""The trace of PyTorch's allocator, handed over by a library in C++ that is made like torch 2.11's. Arguments: the program,
the folder of the fakes, the two made-up libraries: as in the headers, and with other entries."""

import json
import os
import shutil
import subprocess
import sys

import slog_totals
import tap

stormlog, fakes, as_torch, shuffled = (os.path.abspath(sys.argv.pop(1)) for _ in range(4))
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tracker_program.py")
TRACKED = {"request", "reusable", "segment_alloc", "segment_free", "empty_cache"}


def record(folder, case, options=("--replay",), library=as_torch, version="2.11.0+cu130", strip=False, **env):
    torch, out = os.path.join(folder, "torch"), os.path.join(folder, "run")
    for name in ("lib", "cuda"):
        os.makedirs(os.path.join(torch, name))
    path = os.path.join(torch, "lib", "libc10_cuda.so")
    shutil.copy(library, path)
    if strip:
        subprocess.run(["strip", path], check=True)
    for name, text in {"version.py": f"__version__ = '{version}'\n", "__init__.py": "", "cuda/__init__.py": "",
                       "cuda/memory.py": "def empty_cache(work):\n    work()\n"}.items():
        with open(os.path.join(torch, name), "w") as file:
            file.write(text)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("STORMLOG_", "PYTORCH_"))}
    result = tap.run([stormlog, "run", "--no-cpu", "-o", out, *options, "--", "/usr/bin/python3", PROGRAM, torch, case],
                     env={**clean, "LD_LIBRARY_PATH": fakes, **env})
    tap.equal(result.returncode, 0, result.stderr)
    totals = slog_totals.load_all(out)
    tap.equal(len(totals), 1, result.stderr)
    lines = tap.run([stormlog, "cat", "--format", "json", totals[0].path]).stdout.splitlines()
    return json.loads(result.stdout), [json.loads(line) for line in lines], totals[0]


def analyze(path):
    result = tap.run([stormlog, "analyze", "--format", "json", path])
    return json.loads(result.stdout)


@tap.test("requests, streams, pools, late frees, segments and empty_cache() are recorded")
def _(folder):
    facts, events, totals = record(folder, "all")
    a, b, c = facts["blocks"]
    found = [(e["kind"], e["addr"], e["size"], e["label"], e["flags"]) for e in events
             if e["kind"] in TRACKED | {"alloc", "free"} and e["device"] == 0]
    first, second, third = "stream 0 pool 0.0", "stream 7f00 pool 0.0", "stream 7f00 pool 0.5"
    tap.equal(found, [
        ("segment_alloc", a, 512, first, 0), ("request", a, 100, None, 0), ("alloc", a, 512, first, 0),
        ("segment_alloc", b, 1024, second, 0), ("alloc", b, 1024, second, 0),
        ("segment_alloc", c, 1024, third, 0), ("request", c, 513, None, 0), ("alloc", c, 1024, third, 0),
        ("free", a, 512, None, 0), ("free", b, 1024, None, 4), ("reusable", b, 1024, second, 0),
        ("free", c, 1024, None, 4), ("empty_cache", 0, 0, None, 0),
        ("segment_free", a, 512, first, 0), ("segment_free", b, 1024, first, 0)])
    tap.equal(facts["trackers"], 1, "attached once")
    tap.equal({name: count for name, count in totals.health.items() if count and name != "sample_failure"}, {}, "health")
    tap.contains(tap.run([stormlog, "fsck", totals.path]).stdout, "no damage found")


@tap.test("the reader has requested sizes, both times of a free, and the segments and pending frees at the end")
def _(folder):
    facts, _, totals = record(folder, "all")
    path = os.path.join(folder, "events.json")
    tap.equal(tap.run([stormlog, "export", "--to", "events-json", "-o", path, totals.path]).returncode, 0)
    with open(path) as file:
        devices = {device["device"]: device["events"] for device in json.load(file)["devices"]}
    kinds = [event["kind"] for event in devices[0]]
    for kind, count in {"alloc": 3, "free": 1, "free_requested": 2, "free_completed": 1, "segment_alloc": 3,
                        "segment_free": 2, "empty_cache": 1}.items():
        tap.equal(kinds.count(kind), count, kind)
    report = {device["device"]: device for device in analyze(totals.path)["devices"]}[0]
    tap.equal((report["reserved_bytes"], report["allocated_bytes"], report["identity_holds"]), (1024, 0, True), report)


@tap.test("without --replay nothing is attached to the allocator")
def _(folder):
    facts, events, _ = record(folder, "all", options=())
    tap.equal((facts["trackers"], {e["kind"] for e in events} & (TRACKED | {"tracking"})), (0, set()))


for reason, words, arguments in (
        ("a release that was not tried", "torch 2.99.0 is not a release that was tried", {"version": "2.99.0"}),
        ("a development build", "torch 2.11.0a0+gitabc is not a release that was tried", {"version": "2.11.0a0+gitabc"}),
        ("a release with other functions", "its allocator is not that of the release", {"version": "2.6.0"}),
        ("no symbol table", "has no symbol table", {"strip": True})):
    @tap.test(f"{reason}: nothing is attached, the recording has the reason, and all blocks are recorded")
    def _(folder, words=words, arguments=arguments):
        facts, events, totals = record(folder, "many", **arguments)
        tap.equal((facts["trackers"], sum(e["kind"] == "alloc" for e in events)), (0, 40))
        tap.equal({e["kind"] for e in events} & TRACKED, set())
        tap.contains(json.dumps(analyze(totals.path)), words)


@tap.test("trace entries with an unexpected layout switch the tracker off, and all blocks are recorded")
def _(folder):
    _, events, totals = record(folder, "many", library=shuffled)
    tap.equal(sum(e["kind"] == "alloc" for e in events), 40)
    tap.equal([e["label"] for e in events if e["kind"] == "alloc"], [None] * 40, "streams")
    tap.equal(totals.health["hook_failure"], 1, "health")
    report = analyze(totals.path)
    tap.contains(json.dumps(report), "its entries do not fit its reports")
    tap.equal(report["devices"][0]["reserved_bytes"], 40 * 512, "reserved, from the totals")


@tap.test("settings: the environment's, every change and a thrown exception are handled, and a reset is a finding")
def _(folder):
    facts, events, totals = record(folder, "settings", PYTORCH_CUDA_ALLOC_CONF="garbage_collection_threshold:0.5")
    tap.equal((facts["thrown"], facts["first"], facts["second"]), (1, 0, 0))
    tap.equal(sum(e["kind"] == "settings" for e in events), 4)
    found = [finding["title"] for finding in analyze(totals.path)["findings"] if finding["kind"] == "settings"]
    tap.equal(found, ["garbage_collection_threshold:0.5 was reset when the program changed another setting",
                      "max_split_size_mb:64 was reset when the program changed another setting"])


tap.main()
