# SPDX-License-Identifier: MIT
"""One table of facts for each input, taken from `analyze --format json`, and what every other view says about them."""

import collections
import glob
import json
import os
import re
import subprocess

import page_data
import tap
from cli import DATA, FONTS, STORMLOG, good, stormlog

PYTHON = "/usr/bin/python3"
PACKAGES = os.path.join(os.path.dirname(STORMLOG), "python")
LEAK = """
import torch
kept = []
weight = torch.ones(256, 256)
for step in range(40):
    kept.append(torch.ones(64, 1024) @ torch.ones(1024, 64))
    (weight @ weight).sum()
print(len(kept))
"""

Facts = collections.namedtuple("Facts", "path kind verdict headline events devices leaks oom advice")


def human(count):
    """Bytes as the texts write them: three digits."""
    if count < 1024:
        return f"{count} B"
    value, units = float(count), iter(("B", "KiB", "MiB", "GiB", "TiB", "PiB"))
    unit = next(units)
    while value >= 1023.5:
        value, unit = value / 1024, next(units)
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"


def place(site):
    """"train.py:5", or the words for a line that is not known; None where there is no site."""
    return site and (f"{site['file']}:{site['line']}" if site["line"] else site["file"])


def one_space(text):
    """A text without its line breaks."""
    return re.sub(r"\s+", " ", text)


def take(path):
    """The table. Each row of `devices` is (device, live, peak, reserved, steps, events, largest line, its bytes)."""
    report = json.loads(good("analyze", path, "--format", "json"))
    devices = []
    for d in report["devices"]:
        top = d["top_live"][0] if d["top_live"] else None
        devices.append({"device": d["device"], "live": d["live_requested_bytes"], "peak": d["peak_requested_bytes"],
                        "reserved": d["reserved_bytes"], "steps": d["steps"], "events": d["events"],
                        "line": top and place(top["site"]), "line_bytes": top and top["bytes"]})
    leaks = [(place(f["site"]), f["bytes"]) for f in report["findings"] if f["kind"] == "leak"]
    oom = report["oom"] and {"bytes": report["oom"]["requested_bytes"], "cause": report["oom"]["cause"]}
    return Facts(path, report["inputs"][0]["kind"], report["verdict"], report["headline"], report["inputs"][0]["events"],
                 devices, leaks, oom, [f["advice"] for f in report["findings"]])


def amounts(facts):
    """What the texts must say of each device: live, peak, and reserved at the end."""
    return [tuple("-" if d[key] is None else human(d[key]) for key in ("live", "peak", "reserved")) for d in facts.devices]


def is_sampled(facts):
    return facts.kind == "telemetry"


def check_text(facts):
    text = good("analyze", facts.path)
    flat = one_space(text)
    tap.contains(flat, facts.headline)
    size = r"(-|[\d.]+ \w+)"
    end = re.findall(rf"^  at the end +{size} +{size} +{size}", text, re.M)
    peak = re.findall(rf"^  peak +{size} +", text, re.M)
    tap.equal([(e[0], p, e[2]) for e, p in zip(end, peak)], amounts(facts), "live, peak and reserved in the text")
    tap.contains(flat, f", {facts.events:,} events)")
    for advice in facts.advice:
        tap.contains(flat, advice)
    steps = [int(n.replace(",", "")) for n in re.findall(r"s, ([\d,]+) steps? \((?:inferred|marked)", flat)]
    tap.equal(steps, [d["steps"] for d in facts.devices if d["steps"] is not None], "steps in the text")
    largest = re.findall(r"Live at the end\n.*\n +([\d.]+ \w+) +[\d<]+% +[\d,]+  (.*)", text)
    wanted = [d for d in facts.devices if d["line"] and d["live"]]
    tap.equal([amount for amount, _ in largest], [human(d["line_bytes"]) for d in wanted], "the largest line's bytes")
    for (_, line), d in zip(largest, wanted):
        # A long path is shortened at its beginning.
        tap.contains(d["line"], re.sub(r"^\.\.\.|…", "", line.split(" in ")[0]))
    leaks = re.findall(r"^\d+\. leak\b.*?^  amount +([\d.]+ \w+)", text, re.M | re.S)
    tap.equal(leaks, [human(amount) for _, amount in facts.leaks], "amounts of leaks")
    if facts.oom:
        tap.contains(flat, f"requested {human(facts.oom['bytes'])} of")
        tap.contains(flat, f" cause {facts.oom['cause']} ")


def plain_markdown(text):
    return re.sub(r"\\(.)", r"\1", text).replace("&lt;", "<").replace("&amp;", "&")


def check_markdown(facts):
    text = plain_markdown(good("analyze", facts.path, "--format", "md"))
    tap.contains(text, f"## {facts.headline}\n")
    tap.equal(re.findall(r"^\*\*Fix:\*\* (.*)$", text, re.M), facts.advice, "advice in Markdown")
    rows = [re.findall(rf"^\| {name} \| (\S+(?: \w+)?) \|$", text, re.M)
            for name in ("live at the end", "peak", "reserved at the end")]
    wanted = amounts(facts)
    tap.equal(rows[0], [w[0] for w in wanted], "live in Markdown")
    tap.equal(rows[1], [w[1] for w in wanted], "peak in Markdown")
    tap.equal(rows[2], [w[2].replace("-", "unknown") for w in wanted], "reserved in Markdown")
    largest = re.findall(r"Live at the end:\n\n.*\n.*\n\| ([^|]*) \| [\d,]+ \| `` (.*?)(?: in .*)? `` \|", text)
    tap.equal(largest, [(human(d["line_bytes"]), d["line"]) for d in facts.devices if d["line"] and d["live"]], "largest lines")
    leaks = re.findall(r"^### leak\b.*?^\| amount \| ([\d.]+ \w+)", text, re.M | re.S)
    tap.equal(leaks, [human(amount) for _, amount in facts.leaks], "amounts of leaks in Markdown")


def page_row(page, lane, facts):
    about = page.meta["lanes"][lane]
    live, frames = page.column("sites", "live", lane), page.column("sites", "frame", lane)
    best = max(range(len(live)), key=lambda i: live[i], default=None)
    row = {"device": about["device"], "live": about["live_bytes"], "peak": about["peak_bytes"], "reserved": about["reserved_bytes"],
           "steps": about["steps"], "events": about["events"], "line": None, "line_bytes": None}
    if best is not None and live[best]:
        row.update(line=page.frame(frames[best]), line_bytes=live[best])
        tap.equal(sum(live), about["live_bytes"], "sites of the page hold everything that is live")
    if not is_sampled(facts):
        curve = page.column("curve", "last", lane)
        tap.equal(curve[-1], about["live_bytes"], "the page's curve ends with what is live")
        tap.equal(max(page.column("curve", "max", lane)), about["peak_bytes"], "the page's curve has the peak")
    return row


def check_page(facts, folder):
    good("report", facts.path, "-o", f"{folder}/page.html")
    page = page_data.Page(f"{folder}/page.html")
    meta = page.meta
    tap.equal((meta["verdict"], meta["verdict_text"]), (facts.verdict, facts.headline), "verdict of the page")
    tap.equal(meta["inputs"][0]["events"], facts.events, "events of the page")
    tap.equal([f["advice"] for f in meta["findings"]], facts.advice, "advice on the page")
    rows = [page_row(page, lane, facts) for lane in range(len(meta["lanes"]))]
    for row, wanted in zip(rows, facts.devices):
        if not wanted["live"]:
            row.update(line=wanted["line"], line_bytes=wanted["line_bytes"])
    tap.equal(rows, facts.devices, "the page's lanes")
    leaks = [(page.frame(f["site"]) if f["site"] is not None else None, f["bytes"]) for f in meta["findings"] if f["kind"] == "leak"]
    if is_sampled(facts):
        leaks = [(wanted[0], amount) for wanted, (_, amount) in zip(facts.leaks, leaks)]
    tap.equal(leaks, facts.leaks, "leaks of the page")
    oom = meta["oom"] and {"bytes": meta["oom"]["requested_bytes"], "cause": meta["oom"]["cause"]}
    tap.equal(oom, facts.oom, "failed request of the page")


def glyph_rows(svg):
    """The texts of a picture as (font, numbers of glyphs), in the order in which they were drawn."""
    with open(svg, encoding="utf-8") as file:
        found = re.findall(r'<use xlink:href="#(glyph\d+)-(\d+)" x="[-\d.]+" y="([-\d.]+)"', file.read())
    rows = []
    for font, glyph, y in found:
        if not rows or rows[-1][:2] != (font, y):
            rows.append((font, y, []))
        rows[-1][2].append(int(glyph))
    return [(font, glyphs) for font, _, glyphs in rows]


def says(glyphs, text):
    """Glyphs are numbered as they are first met, so a text is known by which of its characters are the same."""
    return len(glyphs) == len(text) and len(set(zip(glyphs, text))) == len(set(glyphs)) == len(set(text))


def check_plot(facts, folder):
    done = stormlog("plot", facts.path, "-o", f"{folder}/p.svg", env=FONTS)
    if done.returncode == 4 and "no cairo" in done.stderr:
        return
    tap.equal((done.returncode, done.stderr), (0, ""), "plot")
    rows = glyph_rows(f"{folder}/p.svg")
    font, title, rest = rows[0][0], [], facts.headline
    while rows[0][0] == font:  # a line that is broken has no blank at its end
        title += rows[0][1]
        rest = rest[:len(title)] + rest[len(title):].removeprefix(" ")
        rows.pop(0)
    tap.true(says(title, rest), f"title of the picture: {facts.headline!r}, {len(title)} glyphs")
    if is_sampled(facts):
        return
    drawn = max(facts.devices, key=lambda d: d["peak"])
    flat = one_space(good("analyze", facts.path, "--device", drawn["device"]))
    events = re.search(r" events +[\d,]+ \([^)]*\) in ([\d.]+ \w+|\d+ min \d+ s)", flat)
    device = "host memory" if drawn["device"] < 0 else f"device {drawn['device']}"
    found = "" if f"{drawn['steps']} steps (marked)" in flat else " (inferred)"
    steps = "" if drawn["steps"] is None else f", {drawn['steps']} steps{found}"
    subtitle = f"{os.path.basename(facts.path)}, {device}, {drawn['events']:,} events in {events.group(1)}{steps}"
    tap.true(says(rows[0][1], subtitle), f"subtitle of the picture: {subtitle!r}, {len(rows[0][1])} glyphs")


def check_prometheus(facts):
    text = good("export", facts.path, "--to", "prometheus")
    for d in facts.devices:
        label = "host" if d["device"] < 0 else d["device"]
        for name, key in (("live_requested_bytes", "live"), ("peak_requested_bytes", "peak"), ("reserved_bytes", "reserved")):
            found = re.findall(rf'^stormlog_{name}{{device="{label}"}} (\d+)$', text, re.M)
            tap.equal(found, [] if d[key] is None else [str(d[key])], f"{name} of device {d['device']} for Prometheus")
        sites = re.findall(rf'^stormlog_site_live_bytes{{device="{label}".*}} (\d+)$', text, re.M)
        tap.equal(sum(map(int, sites)), d["live"], "sites for Prometheus")
    tap.equal(sum(map(int, re.findall(r"^stormlog_out_of_memory_total.* (\d+)$", text, re.M))) > 0, facts.oom is not None, "failures")


def check_folded(facts):
    done = stormlog("export", facts.path, "--to", "folded")
    total = sum(int(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines())
    tap.equal(total, sum(d["live"] for d in facts.devices), "sum of the folded stacks")


def check_diff(facts):
    diffs = json.loads(good("diff", f"{facts.path}@start", facts.path, "--format", "json"))["diffs"]
    after = {d["after"]["device"]: (d["after"]["live_requested_bytes"], d["after"]["reserved_bytes"]) for d in diffs}
    tap.equal(after, {d["device"]: (d["live"], d["reserved"]) for d in facts.devices}, "live and reserved after, in diff")


def check_gate(facts):
    for name, key in (("max-live", "live"), ("max-peak", "peak")):
        done = stormlog("check", f"--{name}", "1", "--format", "json", facts.path)
        gate = json.loads(done.stdout)["gates"][0]
        tap.equal(gate["actual"], max(d[key] for d in facts.devices), f"actual value of --{name}")
    leak_free = json.loads(stormlog("check", "--no-leak", "--format", "json", facts.path).stdout)["passed"]
    tap.equal(leak_free, not facts.leaks, "check --no-leak passes")


def check_python(facts):
    if not glob.glob(f"{PACKAGES}/stormlog/_read*"):
        return
    tap.skip_if_sanitized(STORMLOG)
    code = ("import json, sys, stormlog; path = sys.argv[1]\n"
            "print(json.dumps([stormlog.analyze(path), stormlog.diff(path, path)]))")
    done = subprocess.run([PYTHON, "-c", code, str(facts.path)], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": PACKAGES})
    tap.equal(done.returncode, 0, done.stderr)
    report, diff = json.loads(done.stdout)
    tap.equal(report, json.loads(good("analyze", facts.path, "--format", "json")), "Python's report")
    tap.equal([d["after"]["live_requested_bytes"] for d in diff["diffs"]], [d["live"] for d in facts.devices], "Python's diff")


def check_top(facts):
    """For a finished recording, `top` shows the end of the work, like the other views."""
    # Not yet true if the program freed its tensors at its end: then `top` shows what was left at exit.
    shown = json.loads(good("top", "--once", "--format", "json", facts.path))[0]["devices"]
    live = {d["device"]: d["tensors_bytes"] for d in shown}
    tap.equal(live, {d["device"]: d["live"] for d in facts.devices}, "live bytes in top")
    text = good("top", "--once", facts.path)
    host = re.findall(r"^Host memory\n +([\d.]+ \w+)  tensors$", text, re.M)
    tap.equal(host, [human(d["live"]) for d in facts.devices if d["device"] < 0], "host memory in top")
    steps = re.findall(r", ([\d,]+) steps?(?:,.*)?$", text, re.M)
    tap.equal([int(n.replace(",", "")) for n in steps if n != "0"], [d["steps"] for d in facts.devices if d["steps"] is not None][:1],
              "steps in top")
    largest = re.findall(r"^ +live +blocks +line\n +([\d.]+ \w+) +[\d,]+  (.*)", text, re.M)
    wanted = [d for d in facts.devices if d["live"]]
    tap.equal([amount for amount, _ in largest], [human(d["line_bytes"]) for d in wanted], "the largest line in top")
    for (_, line), d in zip(largest, wanted):
        tap.contains(d["line"], re.sub(r"^\.\.\.|…", "", line.split(" in ")[0]))


def add_tests(name, make, views):
    for view in views:
        @tap.test(f"{name}: {view.__name__.removeprefix('check_')}")
        def _(folder, view=view):
            facts = take(make(folder))
            view(facts, folder) if view in (check_page, check_plot) else view(facts)


OF_SAMPLES = [check_text, check_markdown, check_page, check_plot, check_gate, check_python, check_diff]
OF_EVENTS = [*OF_SAMPLES, check_prometheus, check_folded]


def fixture(path):
    return lambda _: DATA / path


fresh_runs = {}


def fresh(_):
    """A program with a leak that ends normally, recorded once for all tests."""
    tap.skip_if_sanitized(STORMLOG)
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode:
        tap.skip("/usr/bin/python3 has no torch")
    if "path" not in fresh_runs:
        folder = fresh_runs["folder"] = tap.tempfile.TemporaryDirectory(prefix="stormlog-facts-")
        with open(f"{folder.name}/leak.py", "w", encoding="utf-8") as file:
            file.write(LEAK)
        done = tap.run([STORMLOG, "run", "-q", "-o", f"{folder.name}/run", "--", PYTHON, f"{folder.name}/leak.py"], cwd=folder.name)
        tap.equal((done.returncode, done.stdout), (0, "40\n"), f"the recorded program: {done.stderr}")
        fresh_runs["path"] = glob.glob(f"{folder.name}/run/*.slog")[0]
    return fresh_runs["path"]


for snapshot in ("s2_retention", "s5_oom", "s7_graph_stacks_all"):
    add_tests(snapshot, fixture(f"h200/{snapshot}.pickle.gz"), OF_EVENTS)
# What a replay proves about allocator settings is the same in every form of the report.
add_tests("c21_oom_fragmentation", fixture("corpus/c21_oom_fragmentation.pickle.gz"),
          [check_text, check_markdown, check_page, check_python])
for recording in ("leak", "oom"):
    add_tests(f"{recording}.slog", fixture(f"slog/{recording}.slog.xz"), [*OF_EVENTS, check_top])
add_tests("telemetry", fixture("peer/leaky/events.json"), OF_SAMPLES)
add_tests("a fresh recording", fresh, [*OF_EVENTS, check_top])

tap.main()
