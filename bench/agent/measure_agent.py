# SPDX-License-Identifier: MIT
"""Measures the agent; see run.sh. Prints one line per figure, and what the limit is. Exit status 1 when one is exceeded."""

import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path

import agent_kit as kit
import tap

SECONDS = float(os.environ.get("AGENT_SECONDS", "60"))
TICK = os.sysconf("SC_CLK_TCK")
exceeded = []


def status_kib(pid, *names):
    rows = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return [int(rows[name].split()[0]) for name in names]


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def own_figures(agent):
    return {line.split()[0]: float(line.split()[1]) for line in agent.metrics_text("?client=bench").splitlines()
            if line.startswith("stormlog_agent_")}


def show(what, value, unit, limit=None):
    print(f"  {what:<58} {value:>12,.2f} {unit}" + (f"   (limit {limit:,} {unit})" if limit else ""), flush=True)
    if limit and value > limit:
        exceeded.append(what)


@contextlib.contextmanager
def open_sink(folder):
    try:
        server = kit.VictoriaMetrics(f"{folder}/vm")
    except tap.Skip as skip:
        print(f"  {skip}: a sink that only counts is used")
        with kit.Sink() as sink:
            sink.bodies = type("Forget", (list,), {"append": lambda self, item: None})()
            yield sink.url, None
        return
    with server:
        yield server.url, server


def measure(ranks, forms, scrape_s, curves):
    """Starts everything, waits until the agent is at rest, and measures for SECONDS."""
    with tempfile.TemporaryDirectory(prefix="stormlog-bench-", dir=kit.BUILD) as folder, open_sink(folder) as (url, server), \
            kit.live_fleet(f"{folder}/runs", ranks=ranks, past=5, curves=curves) as fleet:
        pushes = [argument for form in forms for argument in (f"--{form}", url)]
        with kit.Agent(f"{folder}/state", *pushes, f"{folder}/runs") as agent:
            pid, ranked = agent.process.pid, {form: f'{{sink="{i}",form="{name}"}}' for i, (form, name) in
                                              enumerate((form, "import" if form == "push" else form) for form in forms)}
            time.sleep(20)
            before, cpu, began, most, seen = own_figures(agent), cpu_seconds(pid), time.monotonic(), [], 0
            server_cpu = cpu_seconds(server.process.pid) if server else 0
            while time.monotonic() < began + SECONDS:
                most.append(status_kib(pid, "VmRSS", "RssAnon"))
                if scrape_s and time.monotonic() > began + seen * scrape_s:
                    seen += 1
                    agent.metrics_text()
                time.sleep(0.25)
            after, took = own_figures(agent), time.monotonic() - began
            rss = sorted(row[0] for row in most)
            show("resident memory, median", rss[len(rss) // 2] / 1024, "MiB", 8 if ranks == 16 else None)
            show("resident memory, highest of four per second", rss[-1] / 1024, "MiB", 8 if ranks == 16 else None)
            show("of it not shared with files, highest", max(row[1] for row in most) / 1024, "MiB")
            show("highest ever (while it starts)", status_kib(pid, "VmHWM")[0] / 1024, "MiB")
            show("processor", (cpu_seconds(pid) - cpu) / took * 100, "% of a core", 0.5 if ranks == 16 else None)
            for form in forms:
                def grown(name, form=form):
                    key = f"stormlog_agent_{name}{ranked[form]}"
                    return after[key] - before[key]
                # Points of one second of one rank, by what was pushed: sequences of requests do not end with the measurement.
                per_point = samples_per_point(agent, ranks)
                points = grown("pushed_samples_total") / per_point
                show(f"{form}: bytes on the wire per rank and second", grown("sent_bytes_total") / points, "B", 300)
                show(f"{form}: points per second", points / took, "1/s")
                show(f"{form}: requests", grown("requests_total"), "")
                show(f"{form}: retries", grown("retries_total"), "")
            if server:
                show("VictoriaMetrics: processor", (cpu_seconds(server.process.pid) - server_cpu) / took * 100, "% of a core")
                show("VictoriaMetrics: resident memory", status_kib(server.process.pid, "VmRSS")[0] / 1024, "MiB")
            check_points(server, fleet.start_ms, ranks)


def measure_backlog(ranks, seconds):
    """Recordings of which nothing was sent yet: how fast they are, and what they take on the server's disk."""
    with tempfile.TemporaryDirectory(prefix="stormlog-bench-", dir=kit.BUILD) as folder, open_sink(folder) as (url, server):
        kit.make_fleet(f"{folder}/runs", ranks=ranks, past=seconds, curves=1024)
        began, own = time.monotonic(), os.times()
        done = kit.agent(f"{folder}/state", "--once", "--push", url, f"{folder}/runs")
        took, used = time.monotonic() - began, os.times()
        tap.equal(done.returncode, 0, done.stderr)
        if not server:
            return
        server.get("/internal/force_flush")
        server.get("/internal/force_merge")
        time.sleep(3)
        cnt = float(server.query("sum(count_over_time({__name__=~'stormlog_.*'}[1h]))", time=str(int(time.time()) + 1))[0]["value"][1])
        data = sum(path.stat().st_size for path in Path(f"{folder}/vm/data").rglob("*") if path.is_file())
        cpu = used.children_user + used.children_system - own.children_user - own.children_system
        show("samples", cnt, "")
        show("samples per second, agent and server on 2 cores", cnt / took, "1/s")
        show("the agent's processor time per sample", cpu / cnt * 1e6, "us")
        show("on the server's disk, with its index", data / cnt, "B/sample")


def samples_per_point(agent, ranks):
    """Series that have a value every second; those of the newest point only come once per request."""
    rare = ("stormlog_lost_total", "stormlog_state", "stormlog_info", "stormlog_out_of_memory_seconds")
    samples = [name for name, labels, _, _ in agent.metrics("?client=bench") if "rank" in labels]
    frequent = sum(name not in rare for name in samples) / ranks
    return frequent + sum(name in rare for name in samples) / ranks / 10


def check_points(server, start_ms, ranks):
    """Everything up to half a minute ago is there, once."""
    if not server:
        return
    end = int(time.time()) - 30
    seconds = end - start_ms // 1000 - 1
    result = server.query(f"count_over_time(stormlog_step[{seconds}s])", time=str(end))
    counts = {int(row["value"][1]) for row in result}
    print(f"  {'points of each rank in VictoriaMetrics, expected ' + str(seconds):<58} {sorted(counts)}, {len(result)} ranks")
    if counts != {seconds} or len(result) != ranks:
        exceeded.append("points in VictoriaMetrics")


def main():
    print(f"16 recordings, {SECONDS:.0f} s, pushed as text every 10 s, /metrics scraped every 15 s:")
    measure(16, ["push"], 15, 512)
    print(f"16 recordings, {SECONDS:.0f} s, remote write, nothing scraped:")
    measure(16, ["remote-write"], 0, 512)
    print(f"1,024 ranks at 1 Hz in one agent, {SECONDS:.0f} s:")
    measure(1024, ["push"], 0, 128)
    print("128 ranks, 400 s of each, at once:")
    measure_backlog(128, 400)
    print("every limit is kept" if not exceeded else f"EXCEEDED: {', '.join(exceeded)}")
    return 1 if exceeded else 0


sys.exit(main())
