# SPDX-License-Identifier: MIT
"""Profiles in a real Pyroscope: figures of the recording by line, the question which release raised memory on which line, a second
push that changes nothing, and a server that is killed in the middle. Run by `make check-engines`."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

import queries
import tap

STORMLOG, MAKE_RANK = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]
PROGRAM = Path(os.environ.get("STORMLOG_ENGINES", "")) / "bin" / "pyroscope"
MIB = queries.MIB


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Pyroscope:
    """A server on ports of its own that keeps its data in the folder."""

    def __init__(self, folder):
        if not PROGRAM.exists():
            tap.skip("pyroscope could not be built here")
        self.folder, self.ports = folder, [free_port() for _ in range(3)]
        self.url = f"http://127.0.0.1:{self.ports[0]}"
        self.start()

    def start(self):
        rings = ["compactor.ring.instance-addr", "distributor.ring.instance-addr", "ingester.lifecycler.addr",
                 "overrides-exporter.ring.instance-addr", "query-frontend.instance-addr",
                 "query-scheduler.ring.instance-addr", "store-gateway.sharding-ring.instance-addr",
                 "memberlist.bind-addr", "memberlist.advertise-addr", "server.http-listen-address", "server.grpc-listen-address"]
        self.log = open(f"{self.folder}/pyroscope.log", "ab")
        self.process = subprocess.Popen(
            [PROGRAM, f"-server.http-listen-port={self.ports[0]}", f"-server.grpc-listen-port={self.ports[1]}",
             f"-memberlist.bind-port={self.ports[2]}", f"-pyroscopedb.data-path={self.folder}/data",
             "-usage-stats.enabled=false", "-ingester.min-ready-duration=0s", "-self-profiling.disable-push=true",
             *[f"-{ring}=127.0.0.1" for ring in rings]], cwd=self.folder, stdout=self.log, stderr=self.log)
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"{self.url}/ready", timeout=5) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                pass
            tap.true(self.process.poll() is None, "pyroscope runs: " + Path(f"{self.folder}/pyroscope.log").read_text()[-500:])
            time.sleep(0.1)
        raise AssertionError("pyroscope was not ready within a minute")

    def stop(self, kill=False):
        (self.process.kill if kill else self.process.terminate)()
        self.process.wait()
        self.log.close()

    def lines(self, selector, kind="inuse_space:bytes"):
        """{"FILE:LINE - FUNCTION": bytes} of all profiles with these labels."""
        query = urllib.parse.urlencode({"query": f"memory:{kind}:space:bytes{{{selector}}}", "from": "now-1h", "until": "now",
                                        "format": "json"})
        with urllib.request.urlopen(f"{self.url}/pyroscope/render?{query}", timeout=60) as answer:
            graph = json.load(answer)["flamebearer"]
        found = {}
        for level in graph["levels"][1:]:
            for at in range(0, len(level), 4):
                name = graph["names"][level[at + 3]]
                found[name] = found.get(name, 0) + level[at + 2]
        return found

    def wait_for(self, selector, expected, kind="inuse_space:bytes"):
        for _ in range(300):
            if self.lines(selector, kind) == expected:
                return
            time.sleep(0.1)
        tap.equal(self.lines(selector, kind), expected, selector)


def push(server, run, release, *arguments, code=0):
    done = tap.run([STORMLOG, "export", str(run), "--to", "pprof", "--push", server.url, "--service", "train", "--label",
                    f"release={release}", *arguments], timeout=300)
    tap.equal(done.returncode, code, done.stderr)
    return done


FILE = "/home/user/train.py"


@tap.test("Pyroscope shows the figures of the recordings by line, and which release raised memory on which line")
def _(folder):
    server = Pyroscope(folder)
    try:
        before, after = queries.make_runs(MAKE_RANK, Path(folder) / "runs")
        push(server, before, "1.3", "--every", "1h")
        push(server, after, "1.4", "--every", "1h")
        model, forward, cache = f"{FILE}:11 - __init__", f"{FILE}:22 - forward", f"{FILE}:33 - remember"
        usual = {model: 8 * MIB, forward: 8 * MIB}
        for rank in range(queries.WORLD):
            leaks = {cache: queries.KEPT} if rank == queries.LEAKING else {}
            server.wait_for(f'service_name="train",release="1.4",rank="{rank}",gpu="0"', {**usual, **leaks})
        old, new = (server.lines(f'service_name="train",release="{release}"') for release in ("1.3", "1.4"))
        grown = {name: new[name] - old.get(name, 0) for name in new}
        tap.equal({name: more for name, more in grown.items() if more}, {cache: queries.KEPT}, "what the release added")
        server.wait_for('service_name="train",release="1.3",rank="0"', {model: 8 * MIB, forward: queries.STEPS * 8 * MIB},
                        "alloc_space:bytes")
        push(server, after, "1.4", "--every", "1h")
        time.sleep(2)
        tap.equal(server.lines('service_name="train",release="1.4"'), new, "after a second push of the same")
    finally:
        server.stop()


@tap.test("Pyroscope is killed and comes back: the push goes on, and nothing is missing or double")
def _(folder):
    server = Pyroscope(folder)
    try:
        run = queries.make_run(MAKE_RANK, Path(folder) / "job", queries.LEAKING)
        server.stop(kill=True)
        done = push(server, run, "2.0", "--tries", "1", code=4)
        tap.contains(done.stderr, "127.0.0.1")
        waiting = subprocess.Popen([STORMLOG, "export", str(run), "--to", "pprof", "--push", server.url, "--service", "train",
                                    "--label", "release=2.0", "--every", "1h", "--tries", "20"], stdout=subprocess.DEVNULL)
        server.start()
        tap.equal(waiting.wait(timeout=300), 0, "exit code of the push that waited")
        for rank in range(queries.WORLD):
            leaks = {f"{FILE}:33 - remember": queries.KEPT} if rank == queries.LEAKING else {}
            server.wait_for(f'service_name="train",release="2.0",rank="{rank}"',
                            {f"{FILE}:11 - __init__": 8 * MIB, f"{FILE}:22 - forward": 8 * MIB, **leaks})
    finally:
        server.stop()


tap.main()
