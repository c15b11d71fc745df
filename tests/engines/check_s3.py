# SPDX-License-Identifier: MIT
"""`stormlog ship` and s3:// paths with real S3 servers: versitygw (Go) and moto (PyPI). Uploads in parts, a server and a client that are
killed in the middle, wrong keys, wrong certificates. Run by `make check-engines`."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import queries
import receiver
import tap

STORMLOG, MAKE_RANK = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]
HOME = Path(os.environ.get("STORMLOG_ENGINES", ""))
ACCESS, SECRET = "testkey", "test/secret+key"
NOISE = 3_000_000  # blocks; some 50 MiB when compacted


class Server:
    """A server on a port of its own with the bucket 'team'."""

    def __init__(self, folder):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        self.folder, self.url = Path(folder), f"http://127.0.0.1:{self.port}"
        self.start()

    def spawn(self, command, **env):
        with open(self.folder / "server.log", "ab") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, env={**os.environ, **env})
        for _ in range(600):
            tap.true(self.process.poll() is None, "the server runs: " + (self.folder / "server.log").read_text()[-500:])
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError("the server did not listen within 30 s")

    def stop(self):
        self.process.kill()
        self.process.wait()

    def env(self, **more):
        return {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache"), "AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET,
                "AWS_ENDPOINT_URL": self.url, **more}


class Versity(Server):
    options = ()

    def start(self):
        program = HOME / "bin" / "versitygw"
        if not program.exists():
            tap.skip("versitygw could not be built here")
        (self.folder / "data" / "team").mkdir(parents=True, exist_ok=True)
        self.spawn([program, "--port", f"127.0.0.1:{self.port}", *self.options, "posix", self.folder / "data"],
                   ROOT_ACCESS_KEY=ACCESS, ROOT_SECRET_KEY=SECRET)


class Moto(Server):
    def start(self):
        program = HOME / "venv" / "bin" / "moto_server"
        if not program.exists():
            tap.skip("moto is not installed here")
        self.spawn([program, "-H", "127.0.0.1", "-p", str(self.port)])
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/team", method="PUT"), timeout=60).close()


def stormlog(server, *arguments, **more):
    return tap.run([STORMLOG, *map(str, arguments)], env=server.env(**more), timeout=600)


def good(server, *arguments, **more):
    done = stormlog(server, *arguments, **more)
    tap.equal(done.returncode, 0, f"exit code of {arguments}; stderr {done.stderr!r}")
    return done.stdout


def table(text):
    return [{**json.loads(line), "run": None} for line in text.splitlines()]


def make_big(folder):
    path = Path(folder) / "big" / "python3-7.slog"
    path.parent.mkdir()
    subprocess.run([MAKE_RANK, path, "0", "1", "20", "5", "", str(NOISE)], check=True, timeout=120)
    return path.parent


def receipts(server):
    """Parts that the client has noted."""
    notes = list((server.folder / "cache" / "stormlog" / "ship").glob("upload-*"))
    return len(notes[0].read_text().splitlines()) - 2 if notes else 0


class Gate:
    """A way to the server that lets some bytes through and then none, so that an upload stops in the middle, however busy the
    machine is."""

    def __init__(self, server):
        self.server_port, self.left, self.is_shut = server.port, 0, threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0))
        server.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def open(self, byte_cnt):
        self.left = byte_cnt
        self.is_shut.clear()

    def accept(self):
        while True:
            client = self.socket.accept()[0]
            try:
                server = socket.create_connection(("127.0.0.1", self.server_port))
            except OSError:
                client.close()
                continue
            threading.Thread(target=self.pump, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, False), daemon=True).start()

    def pump(self, source, sink, is_counted):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if is_counted:
                    self.left -= len(data)
                    if self.left < 0:
                        self.is_shut.set()
                        continue  # the rest is swallowed: the client waits for an answer
                sink.sendall(data)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


PART = 8 << 20


def begin_upload(server, gate, run, part_cnt):
    """A ship command that has sent some parts more, half of another one, and waits."""
    gate.open(part_cnt * PART + PART // 2)
    # A shell starts what is in the background with Ctrl-C ignored, and `ship` obeys that.
    client = subprocess.Popen([STORMLOG, "ship", run, "s3://team/runs", "--tries", "1"], env=server.env(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    tap.true(gate.is_shut.wait(300), "the upload came to the gate")
    return client


@contextlib.contextmanager
def interrupted(folder):
    """A server, a large run, and a ship command that has sent two parts and half of the third: (server, run, gate, command)."""
    server = Versity(folder)
    try:
        run, gate = make_big(folder), Gate(server)
        yield server, run, gate, begin_upload(server, gate, run, 2)
    finally:
        server.stop()


for kind in (Versity, Moto):

    @tap.test(f"{kind.__name__}: a run of four ranks, and a large recording in parts: shipped, read back, not sent again")
    def _(folder, kind=kind):
        server = kind(folder)
        try:
            run = queries.make_run(MAKE_RANK, Path(folder) / "job", queries.LEAKING)
            good(server, "ship", run, "s3://team/runs")
            there = table(good(server, "export", "s3://team/runs/job", "--to", "jsonl"))
            tap.equal(there, table(good(server, "export", run, "--to", "jsonl")), "read back")
            tap.equal(good(server, "ship", run, "s3://team/runs").count("already there"), queries.WORLD, "the second time")
            good(server, "ship", make_big(folder), "s3://team/runs")
            good(server, "fsck", "s3://team/runs/big")
            tap.equal(stormlog(server, "analyze", "s3://team/runs/other").returncode, 3, "a run that is not there")
            tap.equal(stormlog(server, "analyze", "s3://nobucket/runs/job").returncode, 3, "a bucket that is not there")
        finally:
            server.stop()


@tap.test("Versity: killed in the middle of an upload, it gets the rest when it is back")
def _(folder):
    with interrupted(folder) as (server, run, gate, client):
        server.stop()
        out, err = client.communicate(timeout=300)
        tap.equal((client.returncode, len(err.splitlines()), receipts(server)), (4, 1, 2), f"exit code: {out} {err}")
        server.start()
        gate.open(1 << 40)
        tap.contains(good(server, "ship", run, "s3://team/runs"), "of which 16.0 MiB were there from an earlier attempt")
        good(server, "fsck", "s3://team/runs/big")
        tap.equal(receipts(server), 0, "notes are gone")


@tap.test("Versity: a client that is killed in the middle is continued by the next one, Ctrl-C too; nothing of it stays in the bucket")
def _(folder):
    with interrupted(folder) as (server, run, gate, client):
        client.send_signal(signal.SIGKILL)
        client.communicate(timeout=120)
        tap.equal(list((server.folder / "data" / "team").rglob("*.slog")), [], "no object before it is complete")
        client = begin_upload(server, gate, run, 1)
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=300)
        tap.equal((client.returncode, receipts(server)), (-signal.SIGINT, 3), "ended by the signal")
        gate.open(1 << 40)
        tap.contains(good(server, "ship", run, "s3://team/runs"), "of which 24.0 MiB were there from an earlier attempt")
        good(server, "fsck", "s3://team/runs/big")


@tap.test("Versity: a server that has forgotten the upload gets all of it")
def _(folder):
    with interrupted(folder) as (server, run, gate, client):
        server.stop()
        client.communicate(timeout=300)
        gate.open(1 << 40)
        shutil.rmtree(server.folder / "data" / "team" / ".sgwtmp")
        server.start()
        out = good(server, "ship", run, "s3://team/runs")
        tap.true("earlier attempt" not in out, f"nothing resumed: {out}")
        good(server, "fsck", "s3://team/runs/big")


@tap.test("Versity: wrong keys are refused at once, and no key is in the message")
def _(folder):
    server = Versity(folder)
    try:
        run = queries.make_run(MAKE_RANK, Path(folder) / "job", None, world=1)
        for wrong in ({"AWS_SECRET_ACCESS_KEY": "not/the+secret"}, {"AWS_ACCESS_KEY_ID": "nobody"}):
            for arguments in (("ship", run, "s3://team/runs"), ("analyze", "s3://team/runs/job")):
                done = stormlog(server, *arguments, **wrong)
                tap.equal((done.returncode, len(done.stderr.splitlines())), (4, 1), f"{wrong}: {done.stderr}")
                tap.true("not/the+secret" not in done.stderr and SECRET not in done.stderr, "no key in the message")
    finally:
        server.stop()


@tap.test("Versity over TLS: its own certificate is trusted with --ca-file or AWS_CA_BUNDLE only")
def _(folder):
    (right, key), (wrong, _) = receiver.certificate(folder, "right"), receiver.certificate(folder, "wrong")

    class Tls(Versity):
        options = ("--cert", right, "--key", key)

    server = Tls(folder)
    server.url = f"https://127.0.0.1:{server.port}"
    try:
        run = queries.make_run(MAKE_RANK, Path(folder) / "job", None, world=1)
        for options in ((), ("--ca-file", wrong)):
            done = stormlog(server, "ship", run, "s3://team/runs", "--tries", "1", *options)
            tap.equal(done.returncode, 4, done.stderr)
            tap.contains(done.stderr.lower(), "certificate")
        tap.equal(list((server.folder / "data" / "team").iterdir()), [], "nothing arrived")
        good(server, "ship", run, "s3://team/runs", "--ca-file", right)
        good(server, "analyze", "s3://team/runs/job", AWS_CA_BUNDLE=right)
    finally:
        server.stop()


@tap.test("Versity: a full disk in the cache is exit 4; with room again it goes on")
def _(folder):
    if os.geteuid() != 0:
        tap.skip("mounting a small disk needs root")
    small = Path(folder) / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", small], capture_output=True).returncode != 0:
        tap.skip("a small disk cannot be mounted here")
    server = Versity(folder)
    try:
        good(server, "ship", make_big(folder), "s3://team/runs")
        done = stormlog(server, "fsck", "s3://team/runs/big", XDG_CACHE_HOME=str(small))
        tap.equal((done.returncode, len(done.stderr.splitlines())), (4, 1), done.stderr)
        tap.contains(done.stderr, "No space left")
        tap.equal([path.name for path in small.rglob("*.part")], [], "nothing is left of it")
        good(server, "fsck", "s3://team/runs/big")
    finally:
        server.stop()
        subprocess.run(["umount", small], check=True)
        shutil.rmtree(small)


tap.main()
