# SPDX-License-Identifier: MIT
"""What the agent's tests share: recordings by a formula, the agent, sinks that fail in every way, and real servers."""

import contextlib
import gzip
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import tap

STORMLOG, FLEET, BUILD = (os.path.abspath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
ROOT = Path(__file__).resolve().parents[2]
os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1,localhost"

MIB, GIB = 1 << 20, 1 << 30
BASE, SPIKE, LEAK = 8 * GIB, 512 * MIB, 64 * MIB


def tensors(rank, second, leak=-1):
    """agent_fleet.c has the same formula."""
    return BASE + rank * MIB + second % 7 * MIB + (second * LEAK if rank == leak else 0)


def wait_until(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError(f"expected within {seconds} s: {what}")


def needs(*libraries):
    have = json.loads(tap.run([STORMLOG, "info", "--format", "json"]).stdout)["libraries"]
    for name in libraries:
        if not have.get(name):
            tap.skip(f"this build has no {name}")


# ---- recordings ----

def make_fleet(folder, **options):
    """Finished recordings; the time of their start in milliseconds."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    done = tap.run([FLEET, str(folder), *(f"{key}={value}" for key, value in options.items())])
    expected = -signal.SIGKILL if options.get("end") == "killed" else 0
    tap.equal(done.returncode, expected, f"exit of agent_fleet ({done.stderr})")
    return int(done.stdout.split()[1])


@contextlib.contextmanager
def live_fleet(folder, **options):
    """Recordings that go on being written until the block ends; then they are closed."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen([FLEET, str(folder), "end=stay", *(f"{key}={value}" for key, value in options.items())],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        process.start_ms = int(process.stdout.readline().split()[1])
        yield process
    finally:
        process.stdin.close()
        process.wait(60)


# ---- the agent ----

def agent(state, *arguments, **options):
    return tap.run([STORMLOG, "agent", "--state", str(state), "--listen", "none", *map(str, arguments)], **options)


class Agent:
    """A running agent."""

    def __init__(self, state, *arguments, listen="127.0.0.1:0", **environment):
        self.process = subprocess.Popen(
            [STORMLOG, "agent", "--state", str(state), "--listen", listen, *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
        self.said = []
        self.url = None
        if listen != "none":
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(f"the agent does not serve: {self.process.stderr.read()}")
            self.url = line.split()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stderr:
            self.said.append(line)

    def metrics_text(self, query=""):
        with urllib.request.urlopen(self.url + query, timeout=30) as answer:
            return answer.read().decode()

    def metrics(self, query=""):
        return parse_text(self.metrics_text(query))

    def kill(self):
        self.process.kill()
        self.process.wait(30)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()


LINE = re.compile(r'^([a-zA-Z_:][\w:]*)\{(.*)\} (\S+)(?: (\d+))?$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"(?:,|$)')


def unescape(value):
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], value)


def parse_text(text):
    """[(name, labels, value, time)] of the text format; every line must be understood."""
    samples = []
    for line in text.splitlines():
        if not line or line.startswith("#") or "{" not in line:
            continue
        match = LINE.match(line)
        tap.true(match, f"a line of the text format: {line!r}")
        labels, at = {}, 0
        while at < len(match[2]):
            label = LABEL.match(match[2], at)
            tap.true(label, f"labels: {line!r}")
            labels[label[1]] = unescape(label[2])
            at = label.end()
        samples.append((match[1], labels, float(match[3]), int(match[4]) if match[4] else None))
    return samples


def pick(samples, name, **labels):
    """The values of one series by time; None as time for those that have none."""
    return {time_ms: value for found, its, value, time_ms in samples
            if found == name and all(its.get(key) == str(wanted) for key, wanted in labels.items())}


# ---- a sink of our own ----

class Sink(http.server.ThreadingHTTPServer):
    """Takes pushes and keeps their samples; `answers` says what to answer instead, one by one: a number, or a function that
    is given the handler and does what it likes."""

    daemon_threads = True

    def __init__(self, context=None):
        super().__init__(("127.0.0.1", 0), Handler)
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.scheme = "https" if context else "http"
        self.answers, self.bodies, self.requests = [], [], []
        self.refuses = lambda text: False
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"

    def samples(self):
        return [sample for body in self.bodies for sample in parse_text(body)]

    def handle_error(self, *_):
        pass  # clients that were killed

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, dict(self.headers), body))
        answer = self.server.answers.pop(0) if self.server.answers else 204
        if callable(answer):
            answer(self)
            return
        text = gzip.decompress(body).decode() if self.headers["Content-Encoding"] == "gzip" else ""
        if answer == 204 and self.server.refuses(text):
            answer = 400
        if answer == 204:
            self.server.bodies.append(text)
        self.send_response(answer)
        if answer in (429, 503):
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


# ---- real servers ----

def find_server(name):
    path = Path(BUILD) / "servers" / "usr" / "bin" / name
    found = str(path) if path.exists() else shutil.which(name)
    if not found:
        tap.skip(f"{name} is not here; tools/fetch_servers.sh {BUILD} fetches it from Debian")
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server with a folder and a port of its own, that can be killed and started again."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None
        self.start()

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd=self.folder)
        wait_until(self.is_ready, f"{self.command()[0]} answers; its log is {self.folder}/log")

    def is_ready(self):
        with contextlib.suppress(OSError), urllib.request.urlopen(self.url + self.health, timeout=5) as answer:
            return answer.status == 200
        return False

    def kill(self):
        self.process.kill()
        self.process.wait(30)

    def get(self, path, **parameters):
        query = urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(f"{self.url}{path}?{query}", timeout=30) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path} {parameters}: {error.code} {error.read().decode()}") from error

    def query(self, expression, **parameters):
        answer = json.loads(self.get("/api/v1/query", query=expression, **parameters))
        tap.equal(answer["status"], "success", f"status of {expression}")
        return answer["data"]["result"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()


class VictoriaMetrics(Server):
    health = "/health"

    def command(self):
        return [find_server("victoria-metrics"), f"-httpListenAddr=127.0.0.1:{self.port}", f"-storageDataPath={self.folder}/data",
                "-dedup.minScrapeInterval=1ms", "-memory.allowedPercent=10", "-search.latencyOffset=0s", "-loggerLevel=WARN"]

    def export(self, match):
        """{(labels as text): {time: [values]}}, as queries see them."""
        self.get("/internal/force_flush")
        series = {}
        for line in self.get("/api/v1/export", **{"match[]": match}).splitlines():
            row = json.loads(line)
            samples = series.setdefault(json.dumps(row["metric"], sort_keys=True), {})
            for value, time_ms in zip(row["values"], row["timestamps"]):
                samples.setdefault(time_ms, []).append(value)
        return series


class Prometheus(Server):
    health = "/-/ready"
    scrapes = ""

    def __init__(self, folder, scrapes=""):
        self.scrapes = scrapes
        super().__init__(folder)

    def command(self):
        config = self.folder / "prometheus.yml"
        config.write_text("global: {scrape_interval: 1s}\n" + self.scrapes)
        return [find_server("prometheus"), f"--web.listen-address=127.0.0.1:{self.port}", f"--config.file={config}",
                f"--storage.tsdb.path={self.folder}/data", "--web.enable-remote-write-receiver", "--log.level=warn"]
