# SPDX-License-Identifier: MIT
"""`stormlog agent` with the real VictoriaMetrics and Prometheus of Debian: what they have afterwards is what the recordings have."""

import json
import random
import re
import shutil
import time
import urllib.request
from pathlib import Path

import agent_kit as kit
import tap

kit.needs("libcurl", "libmicrohttpd")
CONTRIB = kit.ROOT / "contrib"


def check_export(vm, start, ranks, first, last, leak=-1):
    """Every point of these seconds exactly once, with the formula's value."""
    for rank in range(ranks):
        series = vm.export(f'stormlog_peak_bytes{{rank="{rank}",kind="tensors"}}')
        tap.equal(len(series), 1, f"series of rank {rank}: {list(series)}")
        found = next(iter(series.values()))
        expected = {start + (second + 1) * 1000: [kit.tensors(rank, second, leak) + kit.SPIKE] for second in range(first, last)}
        tap.equal({at: found.get(at) for at in expected}, expected, f"rank {rank}: no gap, nothing twice")


def values_of(prometheus, selector, at_ms, seconds):
    """{labels' rank: [(time, value)]} of the raw samples before a moment."""
    result = prometheus.query(f"{selector}[{seconds}s]", time=at_ms / 1000)
    return {row["metric"]["rank"]: [(round(float(at) * 1000), float(value)) for at, value in row["values"]] for row in result}


@tap.test("VictoriaMetrics: pushed figures are the recording's; the leaking rank is one query away")
def _(folder):
    start = kit.make_fleet(f"{folder}/runs", ranks=8, past=60, leak=5, job='hostile "job"\n{x="y"}')
    with kit.VictoriaMetrics(f"{folder}/vm") as vm:
        done = kit.agent(f"{folder}/state", "--once", "--push", vm.url, f"{folder}/runs")
        tap.equal((done.returncode, done.stderr), (0, ""), "the agent")
        check_export(vm, start, 8, 0, 60, leak=5)
        at = {"time": str(start // 1000 + 59)}
        worst = vm.query('topk(1, deriv(stormlog_memory_bytes{kind="tensors"}[30s]))', **at)
        tap.equal((worst[0]["metric"]["rank"], worst[0]["metric"]["job"]), ("5", 'hostile "job"?{x="y"}'), "the rank that grows most")
        tap.true(abs(float(worst[0]["value"][1]) - kit.LEAK) < kit.LEAK / 20, "by its bytes per second")
        apart = vm.query('max by (rank) (stormlog_memory_bytes{kind="tensors"}) > 1.2 * scalar(quantile(0.5, '
                         'stormlog_memory_bytes{kind="tensors"}))', **at)
        tap.equal([row["metric"]["rank"] for row in apart], ["5"], "ranks far above the median")
        rules = (CONTRIB / "prometheus" / "stormlog.rules.yml").read_text()
        leaks = re.search(r"StormlogRankLeaks\n.*?expr: \|\n(.*?)\n        for:", rules, re.S)[1].replace("15m", "30s")
        tap.equal([row["metric"]["rank"] for row in vm.query(leaks, **at)], ["5"], "the alert's rule")


def dashboard():
    return json.loads((CONTRIB / "grafana" / "stormlog.json").read_text())


def filled(text, **chosen):
    """A query as Grafana sends it: with everything chosen, unless a variable is given."""
    values = {"__rate_interval": "1m", "__range": "5m", **chosen}
    return re.sub(r"\$\{?(\w+)(:\w+)?\}?", lambda m: values.get(m[1], ".*"), text)


def is_between(low, high):
    return lambda rows: len(rows) == 1 and low <= rows[0][1] <= high


def ranks_of(rows):
    return [labels["rank"] for labels, _ in rows]


# What each panel shows for four ranks of which rank 1 leaks: a condition on its rows, [(labels, value)] with the highest first.
PANELS = {
    "Shortest time to out of memory": is_between(300, 900),  # room for about 530 s
    "Failed requests": is_between(0, 0),
    "Ranks that run": is_between(4, 4),
    "Steps between first and last rank": is_between(0, 30),
    "True peaks of tensors, highest ten ranks":
        lambda rows: ranks_of(rows) == ["1", "3", "2", "0"] and all(value >= kit.BASE for _, value in rows),
    "Growth of tensors per second, highest ten ranks":
        lambda rows: ranks_of(rows)[:1] == ["1"] and len(rows) == 4 and abs(rows[0][1] - kit.LEAK) < kit.LEAK / 10 > abs(rows[1][1]) * 10,
    "What fills the card":
        lambda rows: {"libraries": 100 * kit.MIB, "driver": 200 * kit.MIB, "other-processes": 300 * kit.MIB, "cache": 2 * kit.GIB}.items()
        <= {labels["kind"]: value for labels, value in rows}.items() and rows[0][0]["kind"] == "tensors",
    "Use of the card: highest, median and lowest rank": is_between(0.1, 1),
    "Steps per second": is_between(5, 15),
    "Ranks above the median": lambda rows: ranks_of(rows)[:1] == ["1"] and rows[0][1] > 10 * kit.GIB and rows[0][0]["gpu"] == "0",
    "Losses of the recordings": lambda rows: rows == [],
    "The agents: time since the last push": is_between(0, 600),
}


@tap.test("VictoriaMetrics: every panel and every variable of the dashboard has the right answer")
def _(folder):
    with kit.VictoriaMetrics(f"{folder}/vm") as vm, kit.live_fleet(f"{folder}/runs", ranks=4, past=600, leak=1), \
            kit.Agent(f"{folder}/state", "--scan", "100ms", "--batch", "300ms", "--push", vm.url, f"{folder}/runs") as agent:
        def ask(text):
            rows = [(row["metric"], float(row["value"][1])) for row in vm.query(text, time=str(time.time()))]
            return sorted(rows, key=lambda row: -row[1])

        kit.wait_until(lambda: len(ask("stormlog_out_of_memory_seconds")) == 1 and len(ask("stormlog_step")) == 4,
                       "the ranks and a forecast")
        # The agent's own figures are scraped, not pushed.
        own = "".join(line + "\n" for line in agent.metrics_text().splitlines() if line.startswith("stormlog_agent_"))
        with urllib.request.urlopen(f"{vm.url}/api/v1/import/prometheus", data=own.encode(), timeout=30):
            vm.get("/internal/force_flush")
        tap.equal(sorted(panel["title"] for panel in dashboard()["panels"]), sorted(PANELS), "panels, each with an expectation")

        def expect(title, text):
            answers = []

            def is_right():
                answers[:] = ask(text)
                return PANELS[title](answers)
            try:
                kit.wait_until(is_right, title)  # what was pushed last may not be there yet for every rank
            except AssertionError as error:
                raise AssertionError(f"{error}: found {answers} for {text}") from error

        for panel in dashboard()["panels"]:
            for target in panel["targets"]:
                expect(panel["title"], filled(target["expr"]))
        for choice in ({"job": "made"}, {"rank": "2"}):
            tap.equal(ranks_of(ask(filled('stormlog_step{job=~"$job",rank=~"$rank"}', **choice))) == ["2"], "rank" in choice, f"{choice}")
        variables = {}
        for variable in dashboard()["templating"]["list"]:
            if match := re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]):
                answer = json.loads(vm.get(f"/api/v1/label/{match[2]}/values", **{"match[]": filled(match[1])}))
                variables[variable["name"]] = answer["data"]
        tap.equal(variables, {"job": ["made"], "rank": ["0", "1", "2", "3"]}, "variables")


@tap.test("VictoriaMetrics is killed in the middle: afterwards no gap and nothing twice")
def _(folder):
    random.seed(7)
    with kit.VictoriaMetrics(f"{folder}/vm") as vm:
        with kit.live_fleet(f"{folder}/runs", ranks=4, past=5) as fleet:
            with kit.Agent(f"{folder}/state", "--batch", "300ms", "--push", vm.url, f"{folder}/runs") as agent:
                def pushed():
                    text = [line for line in agent.metrics_text().splitlines() if line.startswith("stormlog_agent_pushed")]
                    return int(text[0].split()[-1])
                for _ in range(2):
                    before = pushed()
                    kit.wait_until(lambda seen=before: pushed() > seen + 300, "samples arrive")
                    time.sleep(random.random() * 0.3)
                    vm.kill()
                    kit.wait_until(lambda: any("cannot push" in line for line in agent.said), "the agent sees it")
                    agent.said.clear()
                    vm.start()
                before = pushed()
                kit.wait_until(lambda: pushed() > before + 300, "samples arrive again")
            start = fleet.start_ms
        done = kit.agent(f"{folder}/state", "--once", "--push", vm.url, f"{folder}/runs")
        tap.equal(done.returncode, 0, f"the rest ({done.stderr})")
        steps = vm.export('stormlog_step{rank="0"}')
        last = max(max(samples) for samples in steps.values())
        check_export(vm, start, 4, 0, (last - start) // 1000 - 1)


@tap.test("Prometheus: remote write, and kill -9 of the agent: no gap and nothing twice")
def _(folder):
    with kit.Prometheus(f"{folder}/prometheus") as prometheus:
        with kit.live_fleet(f"{folder}/runs", ranks=3, past=5) as fleet:
            for _ in range(3):
                agent = kit.Agent(f"{folder}/state", "--batch", "300ms", "--remote-write", prometheus.url, f"{folder}/runs")
                before = len(agent.metrics_text())
                kit.wait_until(lambda: before and 'requests_total{sink="0",form="remote-write"} 2' in agent.metrics_text(), "two requests")
                agent.kill()
                # As if it had been killed between the answer and its cursor: what was sent last is sent again.
                cursors = Path(f"{folder}/state/cursors")
                cursors.write_text(re.sub(r"^(at \w+ )(\d+)", lambda m: m[1] + str(int(m[2]) - 1000), cursors.read_text(), flags=re.M))
            start = fleet.start_ms
        done = kit.agent(f"{folder}/state", "--once", "--remote-write", prometheus.url, f"{folder}/runs")
        tap.equal(done.returncode, 0, f"the rest ({done.stderr})")
        end = start + 3600_000
        found = values_of(prometheus, 'stormlog_peak_bytes{kind="tensors"}', end, 3600)
        tap.equal(sorted(found), ["0", "1", "2"], "ranks")
        for rank, samples in found.items():
            times = [at for at, _ in samples]
            tap.equal(times, sorted(set(times)), "times, none twice")
            last = (max(times) - start) // 1000 - 1
            expected = {start + (s + 1) * 1000: kit.tensors(int(rank), s) + kit.SPIKE for s in range(last)}
            tap.equal({at: dict(samples).get(at) for at in expected}, expected, f"rank {rank}: no gap")


@tap.test("Prometheus scrapes what the recordings have, and its rules and the dashboard's queries work")
def _(folder):
    with kit.live_fleet(f"{folder}/runs", ranks=3, past=120, leak=1) as fleet, \
            kit.Agent(f"{folder}/state", "--scan", "100ms", f"{folder}/runs") as agent:
        address = agent.url.split("/")[2]
        scrapes = ("rule_files: [alerts.yml]\n"
                   f"scrape_configs: [{{job_name: stormlog, honor_labels: true, static_configs: [{{targets: ['{address}']}}]}}]\n")
        Path(f"{folder}/prometheus").mkdir()
        alerts = (CONTRIB / "prometheus" / "stormlog.rules.yml").read_text()
        Path(f"{folder}/prometheus/alerts.yml").write_text(alerts)
        checked = tap.run([kit.find_server("promtool"), "check", "rules", f"{folder}/prometheus/alerts.yml"])
        tap.equal(checked.returncode, 0, f"promtool check rules: {checked.stdout}{checked.stderr}")
        with kit.Prometheus(f"{folder}/prometheus", scrapes) as prometheus:
            kit.wait_until(lambda: len(prometheus.query('stormlog_memory_bytes{kind="tensors"}')) == 3, "three ranks are scraped")
            for row in prometheus.query('stormlog_memory_bytes{kind="tensors"}'):
                rank, value = int(row["metric"]["rank"]), float(row["value"][1])
                now = int(time.time() * 1000 - fleet.start_ms) // 1000
                tap.true(value in {kit.tensors(rank, s, leak=1) for s in range(110, now + 2)}, f"rank {rank}: {value}")
                tap.equal(row["metric"]["job"], "made", "the job's own label (honor_labels)")
            queries = [target["expr"] for panel in dashboard()["panels"] for target in panel.get("targets", [])]
            tap.true(len(queries) >= 8, "queries of the dashboard")
            for query in queries:
                prometheus.query(filled(query))
            rules = json.loads(prometheus.get("/api/v1/rules"))["data"]["groups"]
            bad = [rule["name"] for group in rules for rule in group["rules"] if rule.get("lastError")]
            tap.equal(bad, [], "rules that cannot be evaluated")


PUSH_RULES = """
rule_files: [alerts.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'stormlog_agent_requests_total{sink="0",form="push",instance="idle"}', values: '5x30'}
      - {series: 'stormlog_agent_retries_total{sink="0",form="push",instance="idle"}', values: '1x30'}
      - {series: 'stormlog_agent_last_success_seconds{sink="0",form="push",instance="idle"}', values: '60x30'}
      - {series: 'stormlog_agent_retries_total{sink="0",form="push",instance="down"}', values: '0+1x30'}
      - {series: 'stormlog_agent_last_success_seconds{sink="0",form="push",instance="down"}', values: '60x30'}
      - {series: 'stormlog_agent_retries_total{sink="0",form="push",instance="never"}', values: '0+1x30'}
      - {series: 'stormlog_agent_retries_total{sink="0",form="push",instance="busy"}', values: '0+1x30'}
      - {series: 'stormlog_agent_last_success_seconds{sink="0",form="push",instance="busy"}', values: '0+60x30'}
    alert_rule_test:
      - eval_time: 20m
        alertname: StormlogAgentCannotPush
        exp_alerts:
"""


EXPECTED_ALERT = """\
          - exp_labels: {sink: "0", form: push, instance: NODE, severity: warning}
            exp_annotations: {summary: 'the agent on NODE has not reached its sink 0 (push) for 5 minutes'}
"""


@tap.test("the alert about a sink: not for a node without jobs, also for a sink that was never there")
def _(folder):
    shutil.copy(CONTRIB / "prometheus" / "stormlog.rules.yml", f"{folder}/alerts.yml")
    expected = "".join(EXPECTED_ALERT.replace("NODE", name) for name in ("down", "never"))
    Path(f"{folder}/test.yml").write_text(PUSH_RULES + expected)
    done = tap.run([kit.find_server("promtool"), "test", "rules", f"{folder}/test.yml"])
    tap.equal(done.returncode, 0, f"{done.stdout}{done.stderr}")


tap.main()
