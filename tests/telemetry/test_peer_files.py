#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Events and an OOM bundle that the Python tool wrote on an H200: they load, come out unchanged, and get the right verdict."""

import glob
import json
import os

import tap

STORMLOG = os.path.join(os.environ["STORMLOG_BUILD"], "stormlog")
PEER = os.path.join(os.environ["STORMLOG_TEST_DATA"], "peer")
LATER = os.path.join(os.environ["STORMLOG_TEST_DATA"], "later")  # of its version 0.4.3, on a host without a card
MIB = 1 << 20


def events(name):
    return os.path.join(PEER, name, "events.json")


def bundle():
    return glob.glob(os.path.join(PEER, "oom", "oom", "oom_dump_*"))[0]


def report(path):
    result = tap.run([STORMLOG, "analyze", "--format", "json", path])
    tap.equal(result.returncode, 0, f"exit code ({result.stderr})")
    return json.loads(result.stdout)


for _name in ("baseline", "leaky", "oom"):

    @tap.test(f"{_name}: reading and writing the file gives the same bytes")
    def _(folder, name=_name):
        out = os.path.join(folder, "out.json")
        tap.equal(tap.run([STORMLOG, "export", events(name), "--to", "telemetry-json", "-o", out]).returncode, 0, "exit code")
        tap.true(open(out, "rb").read() == open(events(name), "rb").read(), "the same bytes")

    @tap.test(f"{_name}: converting to CSV or JSON lines and back loses nothing")
    def _(folder, name=_name):
        want = json.load(open(events(name)))
        for kind in ("telemetry-csv", "telemetry-jsonl"):
            middle, out = os.path.join(folder, kind), os.path.join(folder, "out.json")
            tap.equal(tap.run([STORMLOG, "export", events(name), "--to", kind, "-o", middle]).returncode, 0, "exit code")
            tap.equal(tap.run([STORMLOG, "export", middle, "--to", "telemetry-json", "-o", out]).returncode, 0, "exit code")
            tap.true(json.load(open(out)) == want, f"the same records through {kind}")


@tap.test("files of version 0.4.3 (records of version 4) are read, as JSON and as CSV, and written as version 2")
def _(folder):
    for name in ("events.json", "events.csv"):
        path, out = os.path.join(LATER, name), os.path.join(folder, "out.json")
        tap.equal(report(path)["verdict"], "healthy", "verdict")
        tap.equal(tap.run([STORMLOG, "export", path, "--to", "telemetry-json", "-o", out]).returncode, 0, "exit code")
        got = json.load(open(out))
        tap.equal([(r["schema_version"], "session_id" in r) for r in got], [(2, False)] * 8, "version 2")
        tap.contains(json.dumps(got[1]["metadata"]), "memory_capabilities", "the rest stays")
    # Without the session's name it only claims to be one.
    records = json.load(open(os.path.join(LATER, "events.json")))
    for record in records:
        del record["session_id"]
    json.dump(records, open(os.path.join(folder, "none.json"), "w"))
    tap.contains(tap.run([STORMLOG, "analyze", os.path.join(folder, "none.json")]).stderr, "Unsupported schema_version: 4")


@tap.test("baseline: a warm-up and a plateau are healthy")
def _():
    got = report(events("baseline"))
    tap.equal(got["verdict"], "healthy", "verdict")
    tap.equal(got["devices"][0]["peak_requested_bytes"],
              max(e["allocator_allocated_bytes"] for e in json.load(open(events("baseline")))), "peak")


@tap.test("leaky: a leak is found, with its rate")
def _():
    got = report(events("leaky"))
    tap.equal(got["verdict"], "leak", "verdict")
    leak = [f for f in got["findings"] if f["kind"] == "leak"][0]
    records = json.load(open(events("leaky")))
    growing = [e for e in records if e["allocator_allocated_bytes"] > 100 * MIB]
    rate = (growing[-1]["allocator_allocated_bytes"] - growing[0]["allocator_allocated_bytes"]) / (
        (growing[-1]["timestamp_ns"] - growing[0]["timestamp_ns"]) / 1e9)
    tap.true(abs(leak["bytes_per_second"] / rate - 1) < 0.1, f"{leak['bytes_per_second']} is within 10 % of {rate}")
    tap.true(leak["r_squared"] > 0.95, f"R squared {leak['r_squared']}")


@tap.test("the OOM bundle: the request, the limit and the cause are found")
def _():
    got = report(bundle())
    tap.equal(got["verdict"], "oom", "verdict")
    tap.equal(got["inputs"][0]["kind"], "oom-bundle", "kind")
    tap.equal(got["oom"]["requested_bytes"], 64 * MIB, "request")
    tap.equal(got["oom"]["allocated_bytes"], 2952790016, "allocated")
    tap.equal(got["oom"]["reserved_bytes"], 2952790016, "reserved")
    tap.equal(got["oom"]["cause"], "leak", "cause")
    tap.contains(got["oom"]["explanation"], "only 2.80 GiB")


@tap.test("the OOM bundle: used and active bytes are read under the bundle's own names")
def _():
    result = tap.run([STORMLOG, "export", bundle(), "--to", "telemetry-jsonl", "-o", "-"])
    last = json.loads(result.stdout.splitlines()[-1])
    tap.equal(last["device_used_bytes"], 2952790016, "used")
    tap.equal(last["allocator_active_bytes"], 2952790016, "active")
    tap.equal(last["device_free_bytes"], 147157090304, "free")


@tap.test("a bundle without a manifest is refused: it is incomplete")
def _(folder):
    for name in ("events.json", "metadata.json"):
        with open(os.path.join(folder, name), "w") as out:
            out.write(open(os.path.join(bundle(), name)).read())
    result = tap.run([STORMLOG, "analyze", folder])
    tap.equal((result.returncode, result.stdout, len(result.stderr.splitlines())), (3, "", 1), "exit code, output, lines")
    tap.contains(result.stderr, "it has no manifest.json, which is written last: the bundle is incomplete")


@tap.test("a bad record is named by index, byte and field")
def _(folder):
    records = json.load(open(events("baseline")))
    records[3]["pid"] = True
    path = os.path.join(folder, "events.json")
    json.dump(records, open(path, "w"))
    result = tap.run([STORMLOG, "analyze", path])
    tap.equal(result.returncode, 3, "exit code")
    tap.contains(result.stderr, "record 3 at byte ")
    tap.contains(result.stderr, "pid must be an integer, found a boolean")


@tap.test("ranks: the rank that grew first and missing ranks are named")
def _(folder):
    base = json.load(open(events("baseline")))[0]
    gib = 1 << 30
    for rank, values in enumerate([[1, 1, 1, 1.4], [1, 1, 1.4, 1.4], [1, 1, 1, 1.4]]):
        rows = []
        for i, value in enumerate(values):
            used = int(value * gib)
            rows.append({**base, "event_type": "sample", "rank": rank, "local_rank": rank, "world_size": 4,
                         "timestamp_ns": 1700000000000000000 + i * 100000000, "device_used_bytes": used,
                         "device_free_bytes": None})
        json.dump(rows, open(os.path.join(folder, f"rank{rank}.json"), "w"))
    result = tap.run([STORMLOG, "ranks", folder])
    tap.equal(result.returncode, 0, f"exit code ({result.stderr})")
    tap.contains(result.stdout, "samples  rank 1 rose first: ")
    tap.contains(result.stdout, "missing  3")
    got = json.loads(tap.run([STORMLOG, "ranks", folder, "--format", "json"]).stdout)
    tap.equal(got["missing_ranks"], [3], "missing ranks")
    tap.equal([s["rank"] for s in got["first_cause_suspects"]], [1, 0, 2], "suspects")


tap.main()
