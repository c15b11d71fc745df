# SPDX-License-Identifier: MIT
"""Recordings made on an H200 (tests/data/slog), read on any machine. Argument: the program."""

import functools
import json
import os
import re
import sys
import tempfile

import frozen
import tap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import pb_decode

stormlog = os.path.abspath(sys.argv.pop(1))
HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "data", "slog")
PROGRAMS = os.path.join(DATA, "programs")
MIB = 1 << 20
COMPRESSED_MAX = 150 * 1024


UNPACKED = tempfile.TemporaryDirectory(prefix="stormlog-recordings-")


@functools.cache
def unpack(name):
    """The recording; all tests share it."""
    packed = os.path.join(DATA, name + ".slog.xz")
    if not os.path.exists(packed):
        tap.skip(f"{name}.slog.xz has not been made yet; see tests/data/slog/README.md")
    tap.true(os.path.getsize(packed) <= COMPRESSED_MAX, f"{name}.slog.xz has at most {COMPRESSED_MAX} bytes")
    return frozen.unpack(packed, os.path.join(UNPACKED.name, name + ".slog"))


def ask(command, path):
    result = tap.run([stormlog, command, "--format", "json", path])
    tap.equal(result.returncode, 0, f"exit code of {command}; {result.stderr}")
    return json.loads(result.stdout)


def line_of(program, part):
    with open(os.path.join(PROGRAMS, program)) as file:
        return next(i for i, line in enumerate(file, 1) if part in line)


def open_clean(name):
    path = unpack(name)
    report = ask("fsck", path)
    tap.equal(report["problems"], [], "damage")
    with open(path, "rb") as file:
        content = file.read()
    for place in (b"/root/", b"/tmp/"):
        tap.true(place not in content, f"no path below {place.decode()} in the recording")
    return path


def check_ledger(path):
    device = next(row for row in ask("top", path)[0]["devices"] if row["device"] == 0)
    rows = ("tensors", "cache", "libraries", "context", "other_processes", "driver", "rest")
    tap.equal(sum(device[row + "_bytes"] or 0 for row in rows), device["card_used_bytes"], f"the rows add up: {device}")
    tap.true(device["rest_bytes"] <= device["card_total_bytes"] / 100, f"rest at most 1 % of the card: {device}")
    return device


KINDS = {"tensors": "tensors", "cache": "cache", "library": "libraries", "context": "context", "other-processes": "other_processes",
         "driver": "driver", "rest": "rest"}


def by_kind(ledger):
    """{kind: bytes}; None where a row of the kind is not known."""
    sums = {}
    for row in ledger["rows"]:
        before = sums.get(row["kind"], 0)
        sums[row["kind"]] = None if row["bytes"] is None or before is None else before + row["bytes"]
    return sums


def check_balance(ledger, what):
    known = sum(row["bytes"] or 0 for row in ledger["rows"])
    tap.equal(known, ledger["card_used_bytes"], f"{what}: the rows add up: {ledger}")
    rest = by_kind(ledger)["rest"]
    tap.true(rest is not None and rest <= ledger["card_total_bytes"] / 100, f"{what}: rest at most 1 % of the card: {ledger}")


def card_tracks(path, folder):
    """{name: [(time, bytes)]} of what the card held, as perfetto gets it."""
    out = os.path.join(folder, "run.pftrace")
    tap.equal(tap.run([stormlog, "export", "--to", "perfetto", path, "-o", out]).returncode, 0, "export")
    with open(out, "rb") as file:
        trace = pb_decode.decode(pb_decode.PERFETTO, "Trace", file.read())
    names, tracks = {}, {}
    for packet in trace["packet"]:
        if "track_descriptor" in packet:
            track = packet["track_descriptor"][0]
            names[track["uuid"][0]] = track.get("name", [""])[0]
        elif "counter_value" in packet["track_event"][0]:
            event = packet["track_event"][0]
            tracks.setdefault(names[event["track_uuid"][0]], []).append((packet["timestamp"][0], event["counter_value"][0]))
    return {name: values for name, values in tracks.items() if "card" in name}


def check_every_moment(path, folder):
    """At each reading of the card, the rows add up to the bytes in use."""
    tracks = card_tracks(path, folder)
    now, moments = {}, sorted({time for values in tracks.values() for time, _ in values})
    for moment in moments:
        for name, values in tracks.items():
            now.update({name: value for time, value in values if time == moment})
        rows = sum(value for name, value in now.items() if name.startswith("card: "))
        tap.equal(rows, now["in use on the card"], f"at {moment}: {now}")
    return len(moments)


def check_agreement(path, folder):
    """top, analyze and the metrics agree on the end; every moment before it adds up too."""
    device = next(row for row in ask("analyze", path)["devices"] if row["device"] == 0)
    check_balance(device["ledger"], "at the end")
    check_balance(device["ledger_fullest"], "when fullest")
    top, sums = check_ledger(path), by_kind(device["ledger"])
    tap.equal({kind: sums.get(kind, 0) for kind in KINDS}, {kind: top[name + "_bytes"] for kind, name in KINDS.items()}, "analyze and top")
    text = tap.run([stormlog, "export", "--to", "prometheus", path, "-o", "-"]).stdout
    metrics = {name: int(value) for name, value in re.findall(r'^stormlog_ledger_bytes\{.*name="([^"]*)"\} (\d+)$', text, re.M)}
    tap.equal(metrics, {row["name"]: row["bytes"] for row in device["ledger"]["rows"] if row["bytes"] is not None}, "analyze and metrics")
    tap.true(check_every_moment(path, folder) > 1, "more than one moment")
    return device


def library_bytes(device, part):
    return sum(row["bytes"] for row in device["libraries"] if part in row["name"])


@tap.test("a leaking program that was killed has the right verdict and line")
def _():
    report = ask("analyze", open_clean("leak"))
    tap.equal(report["verdict"], "leak")
    leak = next(finding for finding in report["findings"] if finding["kind"] == "leak")
    found = (os.path.basename(leak["site"]["file"]), leak["site"]["line"], leak["device"])
    tap.equal(found, ("leak.py", line_of("leak.py", "outputs.append"), 0))


@tap.test("blocks of the leak have tags, and top agrees with analyze")
def _():
    path = unpack("leak")
    rows = next(row for row in ask("analyze", path)["devices"] if row["device"] == 0)["ledger"]["rows"]
    found = {row["tag"]: row["bytes"] for row in rows if row["tag"] and row["bytes"]}
    tap.equal(found["parameter"], found["gradient"], f"a gradient for each parameter: {found}")
    tap.equal(found["optimizer state"], 2 * found["parameter"], f"AdamW keeps two: {found}")
    tap.true(found["other"] > 64 * MIB > MIB > found["activation"], f"cuBLAS's two workspaces are no activations: {found}")
    tags = next(row for row in ask("top", path)[0]["devices"] if row["device"] == 0)["tags"]
    tap.equal({row["name"]: row["bytes"] for row in tags}, found, "top")


@tap.test("out of memory has the right verdict, request and line")
def _():
    report = ask("analyze", open_clean("oom"))
    tap.equal((report["verdict"], report["oom"]["requested_bytes"]), ("oom", 4 << 30))
    site = report["oom"]["site"]
    tap.equal((os.path.basename(site["file"]), site["line"]), ("oom.py", line_of("oom.py", "cache.append")))


@tap.test("NCCL and a second process have rows in the ledger, and the rows add up")
def _():
    device = check_ledger(open_clean("nccl"))
    tap.true(library_bytes(device, "libnccl") > 0, f"bytes of libnccl: {device['libraries']}")
    tap.true(device["other_processes_bytes"] > 1 << 30, f"the other process's gibibyte: {device}")


@tap.test("a run with expandable segments is healthy, and read to its end")
def _():
    path = open_clean("expandable")
    report = ask("analyze", path)
    tap.equal(report["verdict"], "healthy")
    device = next(row for row in report["devices"] if row["device"] == 0)
    tap.true(device["peak_requested_bytes"] > MIB, f"peak: {device['peak_requested_bytes']}")


@tap.test("memory of JAX has its library and the line that requested it")
def _():
    path = open_clean("jax")
    device = check_ledger(path)
    tap.true(library_bytes(device, "xla") >= 40 * 16 * MIB, f"40 arrays of 16 MiB: {device['libraries']}")
    ask("analyze", path)


for name in ("leak", "oom", "nccl", "expandable", "jax"):
    @tap.test(f"{name}: the ledger adds up at every moment, and all views agree")
    def _(folder, name=name):
        check_agreement(unpack(name), folder)


@tap.test("out of memory: the report shows what filled the card, and the alert before it")
def _(folder):
    path = unpack("oom")
    report = ask("analyze", path)
    full = by_kind(next(row for row in report["devices"] if row["device"] == 0)["ledger_fullest"])
    tap.true(full["tensors"] > 130 << 30, f"tensors fill it: {full}")
    tap.equal([(alert["device"], alert["severity"]) for alert in report["alerts"]], [(0, "warning")])
    alert = report["alerts"][0]
    tap.true(alert["value_bytes"] >= alert["threshold_bytes"] > 0, f"over the threshold: {alert}")
    text = tap.run([stormlog, "analyze", path]).stdout
    tap.true("\nAlerts\n" in text and "95 % or more of the card is used" in " ".join(text.split()), text)
    tap.true(re.search(r"^  card +13\d GiB of 140 GiB in use: ", text, re.M), text)


def draw(path, out, *options):
    """The picture's bytes. Fonts that fontconfig keeps are not our leak."""
    fonts = f"suppressions={os.path.join(HERE, '..', 'cli', 'lsan_fonts.supp')}:print_suppressions=0"
    result = tap.run([stormlog, "plot", path, "-o", out, *options], env=dict(os.environ, LSAN_OPTIONS=fonts))
    if result.returncode == 4:
        tap.skip("this build has no cairo")
    tap.equal(result.returncode, 0, result.stderr)
    with open(out, "rb") as file:
        return file.read()


@tap.test("the ledger and the timeline can be drawn, light, dark and small")
def _(folder):
    path = unpack("oom")
    pictures = {draw(path, f"{folder}/{kind}-{theme}.svg", "--kind", kind, "--theme", theme)
                for kind in ("ledger", "timeline") for theme in ("light", "dark")}
    tap.equal(len(pictures), 4, "all differ")
    small = draw(path, f"{folder}/small.png", "--kind", "ledger", "--size", "300x300")
    tap.true(small.startswith(b"\x89PNG"), "a small one too")


@tap.test("telemetry of a recording has the card's readings")
def _(folder):
    path, out = unpack("nccl"), os.path.join(folder, "nccl.json")
    tap.equal(tap.run([stormlog, "export", "--to", "telemetry-json", path, "-o", out]).returncode, 0)
    with open(out) as file:
        records = json.load(file)
    last = records[-1]
    tap.equal(last["device_used_bytes"] + last["device_free_bytes"], last["device_total_bytes"], "used and free")
    tap.true(last["device_used_bytes"] > 3 << 30, f"the whole card, not this process alone: {last}")


tap.main()
