# SPDX-License-Identifier: MIT
"""Prometheus' text format, read back by a strict parser and compared with the report."""

import re

import exported
import tap
from cli import H200, good

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\d+)")


def unescape(text):
    return re.sub(r"\\(.)", lambda match: {"n": "\n"}.get(match[1], match[1]), text)


def labels_of(text):
    found, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        tap.true(match, f"a label at {text[at:]!r}")
        tap.true(match[1] not in found, "a label twice")
        found[match[1]] = unescape(match[2])
        at = match.end()
        if at < len(text):
            tap.equal(text[at], ",", "between labels")
            at += 1
    return found


def parse(text):
    """{name: {"type", "samples": {labels: value}}}; every rule that a scraper may insist on is an error here."""
    families, current = {}, None
    tap.true(text == "" or text.endswith("\n"), "the last line ends")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split(" ", 3)[2]
            tap.true(current not in families, f"{current}: one group of lines a family")
            families[current] = {"samples": {}}
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            tap.equal((name, kind in ("gauge", "counter")), (current, True), line)
            families[current]["type"] = kind
        else:
            match = SAMPLE.fullmatch(line)
            tap.true(match, f"a sample without a timestamp: {line!r}")
            tap.equal(match[1], current, "samples stand below their HELP and TYPE")
            key = tuple(sorted(labels_of(match[2] or "").items()))
            tap.true(key not in families[current]["samples"], f"a series twice: {line!r}")
            families[current]["samples"][key] = int(match[3])
    return families


def by_device(families, name, device):
    return [value for key, value in families[name]["samples"].items() if dict(key)["device"] == str(device)]


FIGURES = {
    "stormlog_live_requested_bytes": "live_requested_bytes", "stormlog_peak_requested_bytes": "peak_requested_bytes",
    "stormlog_allocated_bytes": "allocated_bytes", "stormlog_peak_allocated_bytes": "peak_allocated_bytes",
    "stormlog_reserved_bytes": "reserved_bytes", "stormlog_peak_reserved_bytes": "peak_reserved_bytes",
    "stormlog_allocations_total": "allocs", "stormlog_frees_total": "frees",
}


def add_test(path):
    @tap.test(f"the Prometheus metrics of {path.name} agree with the report")
    def _():
        families = parse(good("export", path, "--to", "prometheus"))
        for name, family in families.items():
            tap.equal(family["type"], "counter" if name.endswith("_total") else "gauge", f"type of {name}")
            tap.true(family["samples"], f"{name} has samples")
        for device in exported.devices_of(path):
            number = device["device"]
            for name, key in FIGURES.items():
                tap.equal(by_device(families, name, number), [device[key]], name)
            tap.equal(sum(by_device(families, "stormlog_site_live_bytes", number)), device["live_requested_bytes"], "sites")
            tap.equal(sum(by_device(families, "stormlog_site_peak_bytes", number)), device["peak_requested_bytes"], "at the peak")
            check_sites(families, device)


def check_sites(families, device):
    at_peak = families["stormlog_site_peak_bytes"]["samples"]
    for row in device["top_peak"]:
        site = row["site"]
        labels = {"device": str(device["device"]), "file": site["file"] or site["label"],
                  "line": str(site["line"] or ""), "function": site["function"] or ""}
        tap.equal(at_peak[tuple(sorted(labels.items()))], row["bytes"], f"{labels}")


for item in H200:
    add_test(item)


@tap.test("names with any characters can be read back from labels")
def _(folder):
    families = parse(good("export", exported.hostile(folder), "--to", "prometheus"))
    files = [dict(key)["file"] for key in families["stormlog_site_live_bytes"]["samples"]]
    tap.true(exported.HOSTILE[1] in files, f"{exported.HOSTILE[1]!r} among {files}")


@tap.test("an empty trace gives no values that were not measured")
def _(folder):
    families = parse(good("export", exported.save(folder, []), "--to", "prometheus"))
    tap.true("stormlog_capacity_bytes" not in families, "capacity is not known and has no sample")
    tap.true("stormlog_reserved_bytes" not in families, "reserved is not known and has no sample")


tap.main()
