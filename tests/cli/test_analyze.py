# SPDX-License-Identifier: MIT
"""analyze on recordings with known results, in every output format, and on files that are not inputs."""

import gzip
import json
import os
import pickle
import xml.etree.ElementTree

import tap
from cli import DATA, H200, STORMLOG, fits, good, stormlog

LEAK = DATA / "h200/s1_loss_history.pickle.gz"
HEALTHY = DATA / "h200/s3_baseline.pickle.gz"
OOM = DATA / "h200/s5_oom.pickle.gz"

# The fields that are documented; others may be added.
TOP = {"schema", "inputs", "verdict", "devices", "oom", "findings"}
INPUT = {"path", "kind", "events", "device_count", "dropped_events"}
DEVICE = {"device", "events", "allocs", "frees", "segments", "base_bytes", "live_requested_bytes", "live_bytes",
          "peak_requested_bytes", "peak_bytes", "peak_time_us", "reserved_bytes", "peak_reserved_bytes", "top_live", "top_peak",
          "fragmentation"}
FINDING = {"kind", "severity", "confidence", "device", "site", "bytes", "blocks", "bytes_per_second", "bytes_per_step",
           "r_squared", "first_time_us", "last_time_us", "title", "explanation", "advice"}
OOM_KEYS = {"device", "requested_bytes", "allocated_bytes", "reserved_bytes", "time_us", "site", "cause", "explanation"}
SITE = {"file", "line", "function", "stack"}


def report_of(path, *arguments):
    return json.loads(good("analyze", path, "--format", "json", *arguments))


def has(item, keys, what):
    tap.equal(sorted(keys - set(item)), [], f"{what}: missing fields")


def check_shape(report):
    has(report, TOP, "report")
    tap.equal(report["schema"], "stormlog.report/1", "schema")
    for item in report["inputs"]:
        has(item, INPUT, "input")
    for device in report["devices"]:
        has(device, DEVICE, "device")
        has(device["fragmentation"], {"inactive_bytes", "largest_free_bytes", "ratio"}, "fragmentation")
        for name in ("top_live", "top_peak"):
            sizes = [row["bytes"] for row in device[name]]
            tap.equal(sizes, sorted(sizes, reverse=True), f"{name}: largest first")
            for row in device[name]:
                has(row, {"site", "bytes", "blocks"}, name)
                has(row["site"], SITE, f"site in {name}")
    for finding in report["findings"]:
        has(finding, FINDING, "finding")
        tap.true(0 <= finding["confidence"] <= 1, "confidence from 0 to 1")
    if report["oom"]:
        has(report["oom"], OOM_KEYS, "oom")


@tap.test("- is standard input for every command that reads a PATH, and ./- the file of that name")
def _(folder):
    for command, code in (("analyze -", 0), ("check --no-leak -", 1), ("export --to folded -", 0), (f"report -o '{folder}/page.html' -", 0),
                          (f"diff '{HEALTHY}' -", 0)):
        done = tap.run(["bash", "-c", f"cat '{LEAK}' | '{STORMLOG}' {command}"])
        tap.equal((done.returncode, done.stderr), (code, ""), command)
    tap.contains(stormlog("analyze", "./-").stderr, "cannot read './-'")


@tap.test("inputs without a leak verdict are not counted as healthy")
def _():
    few = good("analyze", HEALTHY, DATA / "h200/s4_fixed.pickle.gz", "--until", "10ms")
    tap.equal(few.splitlines()[0], "2 inputs: 2 without a leak verdict.")


def add_truth_test(path):
    @tap.test(f"{path.name}: verdict, line and totals match the expected ones")
    def _():
        truth = json.loads(path.with_name(path.name.replace(".pickle.gz", ".truth.json")).read_text())
        report = report_of(path)
        check_shape(report)
        tap.equal(report["verdict"], truth["verdict"], "verdict")
        for device, expect in zip(report["devices"], truth["expect"]["devices"], strict=True):
            found = {key: device[key] for key in expect}
            tap.equal(found, expect, "totals")
        device = report["devices"][0]
        tap.equal({key: device[key] for key in ("live_bytes", "reserved_bytes", "segments")},
                  {key: truth["expect"][key] for key in ("live_bytes", "reserved_bytes", "segments")}, "end state")
        stats = truth["memory_stats"]
        tap.equal(device["peak_bytes"], stats["active_bytes.all.peak"], "peak in blocks")
        tap.equal(device["peak_reserved_bytes"], stats["reserved_bytes.all.peak"], "peak reserved")
        leaks = {finding["site"]["line"] for finding in report["findings"] if finding["kind"] == "leak"}
        accepted = set(truth.get("accept_lines") or truth["leak_lines"])
        tap.true(leaks <= accepted and bool(leaks) == bool(truth["leak_lines"]), f"leak lines {leaks} among {accepted}")


for item in H200:
    add_truth_test(item)


@tap.test("every output format is valid for the program that reads it")
def _():
    for path in H200:
        fits(good("analyze", path), path.name)
        fits(good("analyze", path, "--explain"), path.name)
        suite = xml.etree.ElementTree.fromstring(good("analyze", path, "--format", "junit"))
        tap.equal(int(suite.get("tests")), len(suite.findall("testcase")), "tests")
        tap.equal(int(suite.get("failures")), len(suite.findall("testcase/failure")), "failures")
        tap.true(good("analyze", path, "--format", "md").startswith("## "), "Markdown starts with the verdict")


@tap.test("--fail-on changes only the exit code")
def _():
    for path, kinds, code in ((LEAK, "leak", 1), (LEAK, "oom,spike", 0), (LEAK, "any", 1), (OOM, "oom", 1), (HEALTHY, "any", 0)):
        done = stormlog("analyze", path, "--fail-on", kinds)
        tap.equal(done.returncode, code, f"{path.name} --fail-on {kinds}")
        tap.equal(done.stdout, good("analyze", path), "standard output")


@tap.test("--output writes exactly what standard output would get")
def _(folder):
    out = os.path.join(folder, "report")
    for form in ("txt", "json", "md", "junit"):
        tap.equal(good("analyze", LEAK, "--format", form, "--output", out), "", "standard output")
        with open(out) as file:
            tap.equal(file.read(), good("analyze", LEAK, "--format", form), form)
    tap.equal(os.listdir(folder), ["report"], "files")


@tap.test("--top, --filter, --group-by and a window change the list as asked")
def _():
    device = report_of(LEAK, "--top", 2)["devices"][0]
    tap.equal((len(device["top_live"]), len(device["top_peak"])), (2, 2), "--top")
    device = report_of(LEAK, "--filter", r"history\.py:3 ")["devices"][0]
    tap.equal({row["site"]["line"] for row in device["top_live"]}, {3}, "--filter")
    by_line = report_of(LEAK, "--top", 100)["devices"][0]["top_live"]
    for grouping in ("function", "file", "stack"):
        rows = report_of(LEAK, "--top", 1000, "--group-by", grouping)["devices"][0]["top_live"]
        tap.equal(sum(row["bytes"] for row in rows), sum(row["bytes"] for row in by_line), f"bytes by {grouping}")
        tap.true(len(rows) < len(by_line) if grouping != "stack" else len(rows) > len(by_line), f"rows by {grouping}")
    whole, half = report_of(LEAK)["devices"][0], report_of(LEAK, "--until", "-100ms")["devices"][0]
    tap.true(0 < half["events"] < whole["events"], "a window has fewer events")


@tap.test("several inputs give one report")
def _():
    report = json.loads(good("analyze", HEALTHY, LEAK, "--format", "json"))
    tap.equal(len(report["inputs"]), 2, "inputs")
    tap.equal(report["verdict"], "leak", "the most severe verdict")
    tap.equal([device["input"] for device in report["devices"]], [0, 1], "devices by input")
    tap.equal({finding["input"] for finding in report["findings"] if finding["kind"] == "leak"}, {1}, "input of the leak")


def save(folder, data, name="input.pickle"):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else pickle.dumps(data, protocol=4))
    return path


class Hostile:
    def __reduce__(self):
        return os.system, ("touch owned",)


@tap.test("a bad input gives exit code 3 and one line that names it")
def _(folder):
    whole = LEAK.read_bytes()
    plain = gzip.decompress(whole)
    rows = {
        "text": (b"hello world, this is no pickle\n", "not a recording, PyTorch snapshot"),
        "empty": (b"", "it is empty"),
        "cut": (plain[:100000], "ends at byte 100000"),
        "cut_gz": (whole[:50000], "too early"),
        "hostile": ({"segments": [Hostile()]}, "'posix.system', which this reader refuses"),
    }
    for name, (data, part) in rows.items():
        path = save(folder, data, name)
        done = stormlog("analyze", path, cwd=folder)
        tap.equal(done.returncode, 3, f"{name}: {done.stderr}")
        tap.equal(done.stdout, "", "standard output")
        tap.equal(len(done.stderr.splitlines()), 1, "lines of standard error")
        tap.contains(done.stderr, f"stormlog: cannot read '{path}'")
        tap.contains(done.stderr, part)
    tap.true(not os.path.exists(os.path.join(folder, "owned")), "nothing in the pickle was executed")


@tap.test("a folder, a missing file and a missing device are refused with a reason")
def _(folder):
    for arguments, code, part in (((folder,), 3, "it is a folder"), ((os.path.join(folder, "none"),), 3, "No such file"),
                                  ((LEAK, "--device", 5), 2, "has no device 5; it has 0")):
        done = stormlog("analyze", *arguments)
        tap.equal(done.returncode, code, done.stderr)
        tap.contains(done.stderr, part)


@tap.test("a history that was never enabled is reported, with the fix")
def _(folder):
    data = pickle.loads(gzip.decompress(HEALTHY.read_bytes()))
    data["device_traces"] = [data["device_traces"][0][-1:]]
    path = save(folder, data)
    text = good("analyze", path)
    tap.true(text.startswith("No history: "), text)
    tap.contains(text, "_record_memory_history")
    device = report_of(path)["devices"][0]
    tap.equal(device["peak_requested_bytes"], None, "an unknown peak")
    tap.equal(device["live_requested_bytes"], report_of(HEALTHY)["devices"][0]["live_requested_bytes"], "live bytes")


@tap.test("a history that overflowed is reported, with what is unknown because of it")
def _(folder):
    data = pickle.loads(gzip.decompress(HEALTHY.read_bytes()))
    data["device_traces"] = [data["device_traces"][0][-8000:]]
    path = save(folder, data)
    text = good("analyze", path)
    tap.true(text.startswith("Healthy as far as it was recorded"), text)
    tap.contains(" ".join(text.split()), "any peak before the first event, is unknown")
    kinds = [finding["kind"] for finding in report_of(path)["findings"]]
    tap.true("history" in kinds, f"a finding of kind history in {kinds}")
    tap.true(report_of(path)["devices"][0]["base_bytes"] > 0, "a base")


@tap.test("names in an input cannot control a terminal or break an output format")
def _(folder):
    data = pickle.loads(gzip.decompress(LEAK.read_bytes()))
    evil = "/x/\x1b]0;owned\x07\x1b[2J<script>|`\"'&\u202e.py"
    for event in data["device_traces"][0]:
        for frame in event.get("frames", ()):
            if frame["filename"].endswith("s1_loss_history.py"):
                frame["filename"] = evil
    path = save(folder, data)
    for form in ("txt", "md", "junit", "json"):
        text = good("analyze", path, "--format", form, "--explain")
        tap.true("\x1b" not in text and "\x07" not in text, f"no control characters in {form}")
        if form == "junit":
            xml.etree.ElementTree.fromstring(text)
    tap.equal(report_of(path)["findings"][0]["site"]["file"], evil, "JSON keeps the name")


@tap.test("another program's JSON is refused, not reported as healthy")
def _(folder):
    path = os.path.join(folder, "in.json")
    for content in ('{"a": 1}', "{}", '[{"a": 1}, {"b": 2}]', "[1, 2]", "[[]]", '"text"'):
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        done = stormlog("analyze", path)
        tap.equal(done.returncode, 3, f"exit code of {content}: {done.stdout}")
        tap.contains(done.stderr, "cannot read", content)


tap.main()
