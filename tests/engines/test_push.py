# SPDX-License-Identifier: MIT
"""`stormlog export --to pprof --push`: what a server gets, decoded; answers that are errors, garbage or missing; secrets."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

import tap

MAKE_RANK = os.path.abspath(sys.argv.pop(2))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

import pb_decode  # noqa: E402
import queries  # noqa: E402
import receiver  # noqa: E402
from cli import DATA, STORMLOG, good, stormlog  # noqa: E402

MIB = queries.MIB
TOKEN = "t0p-secret-token"


def needs_curl():
    if not json.loads(good("info", "--format", "json"))["libraries"]["libcurl"]:
        tap.skip("this build has no libcurl")


def ok(*_):
    return 200, {}, b""


def push(url, *arguments, **options):
    return stormlog("export", *arguments, "--to", "pprof", "--push", url, **options)


def decode(body):
    profile = pb_decode.decode(pb_decode.PPROF, "Profile", gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
    strings = profile["string_table"]
    functions = {row["id"][0]: strings[row["name"][0]] for row in profile["function"]}
    places = {row["id"][0]: functions[row["line"][0]["function_id"][0]] for row in profile["location"]}
    return profile, {places[row["location_id"][0][0]]: row["value"][0] for row in profile["sample"]}


@tap.test("one profile for each rank and device, with labels that join, times and the figures of the recording")
def _(folder):
    needs_curl()
    run = queries.make_run(MAKE_RANK, Path(folder) / "job", queries.LEAKING)
    with receiver.serve(ok) as server:
        done = push(f"http://127.0.0.1:{server.port}/", run, "--label", "release=1.4", "--label", "team=a,b}", "--service", "train")
        tap.equal(done.returncode, 0, done.stderr)
        tap.equal(len(server.requests), queries.WORLD, "requests")
        for rank, (method, path, headers, body) in enumerate(server.requests):
            url = urllib.parse.urlsplit(path)
            query = dict(urllib.parse.parse_qsl(url.query))
            tap.equal((method, url.path, query["format"]), ("POST", "/ingest", "pprof"), "request")
            tap.equal(query["name"], f"train{{Hostname=node-0,job=job-7,rank={rank},local_rank={rank},gpu=0,release=1.4,team=a_b_}}",
                      "name")
            tap.true(10**18 < int(query["from"]) <= int(query["until"]), "nanoseconds since 1970")
            profile, values = decode(body)
            kept = (queries.STEPS - queries.LEAK_FROM) if rank == queries.LEAKING else 0
            tap.equal(values["__init__"][:2], [8 * MIB, 1], "model: live bytes and blocks")
            tap.equal(values["forward"], [0, 0, queries.STEPS * 8 * MIB, queries.STEPS * 2], "activations")
            tap.equal(values.get("remember", [0])[0], kept * MIB, "cache")
            tap.equal(profile["string_table"][profile["period_type"][0]["type"][0]], "space", "period type")


@tap.test("--every: parts on common borders, live bytes at the highest moment, allocations that add up; twice gives the same")
def _(folder):
    needs_curl()
    path = DATA / "slog/leak.slog.xz"
    with receiver.serve(ok) as server:
        for _ in range(2):
            tap.equal(push(f"http://127.0.0.1:{server.port}", path, "--every", "1s", "--device", "0").returncode, 0, "exit code")
        half = len(server.requests) // 2
        first, second = server.requests[:half], server.requests[half:]
        tap.true(half > 2, f"several profiles, found {half}")
        tap.equal([(r[1], r[3]) for r in first], [(r[1], r[3]) for r in second], "the second push")
        allocated = peak = 0
        for _, request, _, body in first:
            query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(request).query))
            tap.equal((int(query["from"]) % 10**9, int(query["until"]) - int(query["from"])), (0, 10**9), "borders")
            profile, _ = decode(body)
            allocated += sum(row["value"][0][3] for row in profile["sample"])
            peak = max(peak, sum(row["value"][0][0] for row in profile["sample"]))
    device = json.loads(good("analyze", path, "--format", "json"))["devices"][0]
    tap.equal((allocated, peak), (device["allocs"], device["peak_requested_bytes"]), "allocations and peak of the report")


@tap.test("503 and 429 are tried again, 400 is not; a server that is gone ends with 4, and no message has the token")
def _(folder):
    needs_curl()
    path = DATA / "slog/leak.slog.xz"
    token = Path(folder) / "token"
    token.write_text(TOKEN + "\n")
    answers = iter([(503, {}, b"later"), (429, {"Retry-After": "1"}, b""), None, (200, {}, b"")])
    with receiver.serve(lambda *_: next(answers)) as server:
        done = push(f"http://127.0.0.1:{server.port}", path, "--device", "0", "--token-file", token)
        tap.equal((done.returncode, len(server.requests)), (0, 4), f"retried; {done.stderr}")
        tap.equal({r[2]["Authorization"] for r in server.requests}, {f"Bearer {TOKEN}"}, "token")
    with receiver.serve(lambda *_: (400, {}, b"bad\x1b[31m profile\nmore")) as server:
        done = push(f"http://127.0.0.1:{server.port}", path, "--token-file", token)
        tap.equal((done.returncode, len(server.requests)), (3, 1), "refused once")
        tap.contains(done.stderr, "status 400: bad?[31m profile")
        tap.equal(len(done.stderr.splitlines()), 1, "lines")
        tap.true(TOKEN not in done.stderr, "no token")
    with receiver.serve(lambda *_: (401, {}, b"who are you")) as server:
        done = push(f"http://127.0.0.1:{server.port}", path, "--token-file", token)
        tap.equal((done.returncode, len(server.requests), TOKEN in done.stderr), (4, 1, False), "unauthorized")
    done = push("http://127.0.0.1:1", path, "--token-file", token, "--tries", "1")
    tap.equal((done.returncode, TOKEN in done.stderr, len(done.stderr.splitlines())), (4, False, 1), f"no server: {done.stderr}")


@tap.test("a certificate that is not trusted is refused before anything is sent; with --ca-file it is trusted")
def _(folder):
    needs_curl()
    path = DATA / "slog/leak.slog.xz"
    pair, other = receiver.certificate(folder, "right"), receiver.certificate(folder, "wrong")
    with receiver.serve(ok, pair) as server:
        url = f"https://127.0.0.1:{server.port}"
        good("export", path, "--device", "0", "--to", "pprof", "--push", url, "--ca-file", pair[0])
        tap.equal(len(server.requests), 1, "requests")
        done = push(url, path, "--ca-file", other[0], "--tries", "1")
        tap.equal((done.returncode, len(server.requests)), (4, 1), f"wrong certificate: {done.stderr}")
        tap.contains(done.stderr.lower(), "certificate")


@tap.test("options that do not fit together, and a label that is none, are usage errors")
def _(folder):
    path = DATA / "slog/leak.slog.xz"
    for arguments in (("--to", "csv", "--push", "http://x"), ("--to", "pprof", "--label", "a=b"),
                      ("--to", "pprof", "--push", "http://x", "-o", f"{folder}/x"),
                      ("--to", "pprof", "--push", "http://x", "--label", "novalue"),
                      ("--to", "pprof", "--push", "http://x", "--label", "bad key=1"),
                      ("--to", "pprof", "--push", "ftp://x")):
        done = tap.run([STORMLOG, "export", str(path), *arguments])
        if done.returncode == 4 and "libcurl" in done.stderr:
            continue
        tap.equal((done.returncode, len(done.stderr.splitlines())), (2, 1), f"{arguments}: {done.stderr}")
    empty = Path(folder) / "empty"
    empty.write_text("\n")
    done = push("http://127.0.0.1:9", path, "--token-file", empty)
    tap.equal(done.returncode, 3, "an empty token file")


def agent(folder, server, *arguments):
    return [STORMLOG, "agent", "--listen", "none", "--state", f"{folder}/state", "--profiles", f"http://127.0.0.1:{server.port}",
            "--profile-every", "1h", "--label", "release=9", *map(str, arguments)]


@tap.test("the agent pushes the profiles of every recording: once, and again where the server was not there")
def _(folder):
    needs_curl()
    run = queries.make_run(MAKE_RANK, Path(folder) / "job", queries.LEAKING)
    with receiver.serve(ok) as server:
        tap.equal(push(f"http://127.0.0.1:{server.port}", run, "--every", "1h", "--label", "release=9").returncode, 0, "export")
        expected = sorted((path, body) for _, path, _, body in server.requests)
        server.requests.clear()
        done = tap.run(agent(folder, server, "--once", run))
        tap.equal(done.returncode, 0, done.stderr)
        tap.equal(sorted((path, body) for _, path, _, body in server.requests), expected, "profiles of the agent")
    answers, taken = {"status": 400}, set()

    def answer(method, path, headers, body):
        if answers["status"] == 200:
            taken.add(path)
        return answers["status"], {}, b""

    with receiver.serve(answer) as server:
        done = tap.run(agent(folder, server, "--once", run))
        tap.equal((done.returncode, len(done.stderr.splitlines())), (4, 2), f"a server that refuses: {done.stderr}")
        command = agent(folder, server, "--scan", "100ms", run)
        command[command.index("1h")] = "1s"
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: len(server.requests) >= 2 * queries.WORLD, "the first tries")
        answers["status"] = 200
        wait_for(lambda: len(taken) == queries.WORLD, "profiles after all")
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[1]
        tap.equal((process.returncode, said.count("could not be sent")), (0, 1), f"said once: {said}")


def wait_for(condition, what):
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come within a minute")


tap.main()
