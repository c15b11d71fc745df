# SPDX-License-Identifier: MIT
"""`stormlog agent` serving /metrics: figures, peaks between two scrapes, who may ask."""

import http.client
import json
import os
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import agent_kit as kit
import plain_torch
import tap

kit.needs("libmicrohttpd")


@tap.test("served figures are those of `stormlog top` and of the formula")
def _(folder):
    kit.make_fleet(f"{folder}/runs", ranks=3, past=30, leak=2)
    with kit.Agent(f"{folder}/state", f"{folder}/runs") as agent:
        samples = agent.metrics()
        for rank in range(3):
            tap.equal(kit.pick(samples, "stormlog_memory_bytes", rank=rank, kind="tensors"), {None: kit.tensors(rank, 29, 2)}, "tensors")
            tap.equal(kit.pick(samples, "stormlog_step", rank=rank), {None: 299}, "step")
            tap.equal(kit.pick(samples, "stormlog_state", rank=rank), {None: 1}, "state: exited")
        labels = next(labels for name, labels, _, _ in samples if name == "stormlog_peak_bytes" and labels["rank"] == "1")
        tap.equal({key: labels[key] for key in ("job", "rank", "local_rank", "gpu", "device", "Hostname")},
                  {"job": "made", "rank": "1", "local_rank": "1", "gpu": "0", "device": "nvidia0",
                   "Hostname": socket.gethostname()}, "labels that join dcgm-exporter's")
        info = next(labels for name, labels, _, _ in samples if name == "stormlog_info" and labels["rank"] == "1")
        tap.equal(info["world_size"], "3", "world size")
        text = urllib.request.urlopen(agent.url, timeout=30).read().decode()
        families = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
        tap.equal(len(families), len(set(families)), "families, each once")
        tap.equal(agent.stop(), 0, "exit code after SIGTERM")


@tap.test("a peak between two scrapes is seen by each client once")
def _(folder):
    with kit.live_fleet(f"{folder}/runs", ranks=1, past=10), kit.Agent(f"{folder}/state", f"{folder}/runs") as agent:
        def peak(client):
            return kit.pick(agent.metrics(f"?client={client}"), "stormlog_peak_bytes", kind="tensors")[None]

        def step():
            return kit.pick(agent.metrics("?client=step"), "stormlog_step")[None]
        peak("a")
        peak("b")
        first = step()
        kit.wait_until(lambda: step() >= first + 12, "more than a second passes")  # a spike of 20 ms in every second
        tap.true(peak("a") >= kit.BASE + kit.SPIKE, "client a sees the spike")
        tap.true(peak("b") >= kit.BASE + kit.SPIKE, "client b sees it, too")
        seen = {peak("a") >= kit.BASE + kit.SPIKE for _ in range(30) if time.sleep(0.02) is None}
        tap.true(False in seen, "and not again, until there is another")


def status(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@tap.test("a token, other paths, other methods")
def _(folder):
    kit.make_fleet(f"{folder}/runs", ranks=1, past=5)
    Path(f"{folder}/token").write_text("s3cret\n")
    arguments = ["--listen-token-file", f"{folder}/token", f"{folder}/runs"]
    with kit.Agent(f"{folder}/state", *arguments) as agent:
        tap.equal(status(agent.url), 401, "no token")
        for wrong in ("Bearer wrong", "Bearer s3cret2", "Bearer s3cre", "Bearer ", "s3cret"):
            tap.equal(status(agent.url, Authorization=wrong), 401, wrong)
        tap.equal(status(agent.url, Authorization="Bearer s3cret"), 200, "the token")
        tap.equal(status(agent.url.replace("/metrics", "/"), Authorization="Bearer s3cret"), 404, "another path")
        post = urllib.request.Request(agent.url, data=b"x", headers={"Authorization": "Bearer s3cret"})
        try:
            urllib.request.urlopen(post, timeout=30)
            raise AssertionError("expected POST to fail")
        except (urllib.error.HTTPError, ConnectionError, http.client.HTTPException, urllib.error.URLError):
            pass
    with kit.Agent(f"{folder}/state", *arguments, listen="0.0.0.0:0") as agent:
        tap.equal(status(agent.url.replace("0.0.0.0", "127.0.0.1"), Authorization="Bearer s3cret"), 200, "an open address with a token")


@tap.test("an address that others can reach needs a token; one that is taken is named")
def _(folder):
    kit.make_fleet(f"{folder}/runs", ranks=1, past=5)
    done = tap.run([kit.STORMLOG, "agent", "--state", f"{folder}/state", "--listen", "0.0.0.0:0", f"{folder}/runs"])
    tap.equal(done.returncode, 2, "exit code")
    tap.contains(done.stderr, "'0.0.0.0:0' can be reached from other machines")
    for bad in ("nowhere", ":1", "127.0.0.1:", "127.0.0.1:99999x"):
        tap.equal(tap.run([kit.STORMLOG, "agent", "--state", f"{folder}/state", "--listen", bad, f"{folder}/runs"]).returncode, 2, bad)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = tap.run([kit.STORMLOG, "agent", "--state", f"{folder}/state", "--listen", address, f"{folder}/runs"])
        tap.equal(done.returncode, 4, "exit code")
        tap.contains(done.stderr, f"cannot listen on '{address}'")


@tap.test("a unix socket that only its owner may open")
def _(folder):
    kit.make_fleet(f"{folder}/runs", ranks=1, past=5)
    path = Path(f"{folder}/agent.sock")
    for _ in range(2):  # the second time over what a kill left behind
        agent = kit.Agent(f"{folder}/state", f"{folder}/runs", listen=f"unix:{path}")
        tap.equal(path.stat().st_mode & 0o777, 0o600, "rights")
        connection = http.client.HTTPConnection("agent")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(path))
        connection.request("GET", "/metrics")
        tap.contains(connection.getresponse().read().decode(), "stormlog_step{")
        connection.close()
        agent.kill()


@tap.test("HTTPS with a certificate of one's own")
def _(folder):
    kit.make_fleet(f"{folder}/runs", ranks=1, past=5)
    made = tap.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{folder}/key", "-out",
                    f"{folder}/cert"])
    if made.returncode:
        tap.skip(f"openssl cannot make a certificate: {made.stderr}")
    with kit.Agent(f"{folder}/state", "--tls-cert", f"{folder}/cert", "--tls-key", f"{folder}/key", f"{folder}/runs") as agent:
        context = ssl.create_default_context(cafile=f"{folder}/cert")
        with urllib.request.urlopen(agent.url, timeout=30, context=context) as answer:
            tap.contains(answer.read().decode(), "stormlog_step{")
    done = tap.run([kit.STORMLOG, "agent", "--state", f"{folder}/state", "--tls-cert", f"{folder}/cert", f"{folder}/runs"])
    tap.equal(done.returncode, 2, "a certificate without its key")


@tap.test("without a folder the recordings of running processes are found, by their numbers outside of a container")
def _(folder):
    with kit.live_fleet(f"{folder}/runs", ranks=2, past=5) as fleet, kit.Agent(f"{folder}/state", "--scan", "200ms") as agent:
        def own():
            return [labels for name, labels, _, _ in agent.metrics() if name == "stormlog_step" and labels["pid"] == str(fleet.pid)]
        kit.wait_until(lambda: len(own()) == 2, "both recordings are found")
    tool = tap.run(["unshare", "--pid", "--fork", "--mount-proc", "true"])
    if tool.returncode:
        tap.skip("a PID namespace cannot be made here")
    Path(f"{folder}/inside").mkdir()
    inside = subprocess.Popen(["unshare", "--pid", "--fork", "--mount-proc", kit.FLEET, f"{folder}/inside", "ranks=1", "past=5",
                               "end=stay"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        inside.stdout.readline()
        with kit.Agent(f"{folder}/state", f"{folder}/inside") as agent:
            samples = agent.metrics()
            info = next(labels for name, labels, _, _ in samples if name == "stormlog_info")
            tap.equal(info["container_pid"], "1", "its number inside")
            children = Path(f"/proc/{inside.pid}/task/{inside.pid}/children").read_text().split()
            tap.equal(info["pid"], children[0], "its number outside")
    finally:
        inside.stdin.close()
        inside.wait(30)


@tap.test("time to out of memory of a rank that leaks, and of no other")
def _(folder):
    with kit.live_fleet(f"{folder}/runs", ranks=2, past=600, leak=1), \
            kit.Agent(f"{folder}/state", "--scan", "100ms", f"{folder}/runs") as agent:
        seconds = kit.wait_until(lambda: kit.pick(agent.metrics(), "stormlog_out_of_memory_seconds"), "a forecast")
        room = 80 * kit.GIB - kit.tensors(1, 600, 1) - 4 * kit.GIB
        expected = room / kit.LEAK
        tap.true(expected * 0.7 < seconds[None] < expected * 1.4, f"about {expected:.0f} s: {seconds}")
        tap.equal(kit.pick(agent.metrics(), "stormlog_out_of_memory_seconds", rank=0), {}, "nothing for the healthy rank")


@tap.test("a real recording: what PyTorch holds is what is served and what `top` shows")
def _(folder):
    plain_torch.need_torch(kit.STORMLOG)
    program = ("import sys, torch\nmodel = torch.nn.Linear(4, 4)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
               "for _ in range(5):\n    model(torch.ones(4)).sum().backward()\n    optimizer.step()\n"
               "held = [torch.zeros(1 << 22) for _ in range(4)]\nprint('held', flush=True)\nsys.stdin.read()\n")
    Path(f"{folder}/train.py").write_text(program)
    environment = {**os.environ, "RANK": "3", "LOCAL_RANK": "3", "WORLD_SIZE": "8"}
    target = subprocess.Popen([kit.STORMLOG, "run", "-q", "-o", f"{folder}/runs", "--", plain_torch.PYTHON, f"{folder}/train.py"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        tap.equal(target.stdout.readline(), "held\n", "the program")
        with kit.Agent(f"{folder}/state", f"{folder}/runs") as agent:
            def served(name, **labels):
                return kit.pick(agent.metrics(), name, rank=3, device="host", **labels).get(None, 0)
            kit.wait_until(lambda: served("stormlog_memory_bytes", kind="tensors") >= 1 << 26, "the tensors are served")
            top = json.loads(tap.run([kit.STORMLOG, "top", "--format", "json", f"{folder}/runs"]).stdout)[0]
            host = next(device for device in top["devices"] if device["device"] == -1)
            tap.equal(served("stormlog_memory_bytes", kind="tensors"), host["tensors_bytes"], "tensors")
            tap.true(served("stormlog_peak_bytes", kind="tensors") >= host["tensors_bytes"], "their peak")
            tap.true(served("stormlog_device_total_bytes") > 1 << 28, "the machine's memory")
            tap.equal(kit.pick(agent.metrics(), "stormlog_state", rank=3), {None: 0}, "state: running")
            ranks = json.loads(tap.run([kit.STORMLOG, "ranks", f"{folder}/runs", "--format", "json"]).stdout)["ranks"]
            tap.equal([row["last_step"] for row in ranks], [4], "the newest of five steps, as `ranks` numbers them")
            tap.equal(kit.pick(agent.metrics(), "stormlog_step", rank=3), {None: 4}, "the same number is served")
    finally:
        target.stdin.close()
        target.wait(60)


@tap.test("agent's own figures")
def _(folder):
    kit.make_fleet(f"{folder}/runs", ranks=2, past=5)
    Path(f"{folder}/runs/bad.slog").write_text("no")
    with kit.Sink() as sink, kit.Agent(f"{folder}/state", "--scan", "100ms", "--push", sink.url, f"{folder}/runs") as agent:
        def own():
            text = urllib.request.urlopen(agent.url, timeout=30).read().decode()
            return dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("stormlog_agent_"))
        kit.wait_until(lambda: own()["stormlog_agent_unreadable_total"] == "1", "the bad file is counted")
        name = 'stormlog_agent_pushed_samples_total{sink="0",form="import"}'
        kit.wait_until(lambda: int(own()[name]) > 100, "samples are pushed")
        tap.equal(int(own()[name]), len(sink.samples()), "samples")
        tap.equal(own()["stormlog_agent_recordings"], "2", "recordings")
        sent = sum(len(body) for _, _, body in sink.requests)
        tap.true(int(own()['stormlog_agent_sent_bytes_total{sink="0",form="import"}']) > sent, "bytes, with headers")


tap.main()
