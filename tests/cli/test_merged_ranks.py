# SPDX-License-Identifier: MIT
"""A telemetry file that holds the records of several ranks: a curve for each of them, on the page and in the picture."""

import json
import os
import re

import page_data
import tap
from cli import DATA, FONTS, good, stormlog

SHARES = (1.0, 0.5, 0.25)  # of the recorded bytes, by rank


def merged(folder, devices=(0, 0, 0)):
    """Records of three ranks in order of time, as in a merged file; ranks 1 and 2 hold less than rank 0."""
    with open(DATA / "peer/leaky/events.json", encoding="utf-8") as file:
        records = json.load(file)
    out = []
    for record in records:
        for rank, share in enumerate(SHARES):
            out.append({**record, "rank": rank, "local_rank": rank, "world_size": 3, "device_id": devices[rank],
                        "timestamp_ns": record["timestamp_ns"] + rank * 7_000_000,
                        "allocator_allocated_bytes": int(record["allocator_allocated_bytes"] * share)})
    path = f"{folder}/merged.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(out, file)
    curves = [[r["allocator_allocated_bytes"] for r in out if r["rank"] == rank] for rank in range(3)]
    return path, curves


def plot(*arguments):
    done = stormlog("plot", *arguments, env=FONTS)
    if done.returncode == 4 and "no cairo" in done.stderr:
        tap.skip("this build has no cairo")
    return done


def curves_of(svg):
    """The y coordinates of each curve; smaller is higher."""
    with open(svg, encoding="utf-8") as file:
        paths = re.findall(r'<path style="fill:none;stroke-width:1.6;[^"]*" d="([^"]*)"', file.read())
    return [[float(y) for _, y in re.findall(r"[ML] ([\d.]+) ([\d.]+)", path)] for path in paths]


@tap.test("the page has a lane with its own curve for each rank, and a finding links to the lane of its rank")
def _(folder):
    path, curves = merged(folder)
    good("report", path, "-o", f"{folder}/p.html")
    page = page_data.Page(f"{folder}/p.html")
    lanes = page.meta["lanes"]
    tap.equal([(lane["device"], lane["rank"]) for lane in lanes], [(0, 0), (0, 1), (0, 2)], "lanes")
    for rank, curve in enumerate(curves):
        tap.equal(page.column("curve", "last", rank), curve, f"curve of rank {rank}")
        tap.equal((lanes[rank]["events"], lanes[rank]["peak_bytes"], lanes[rank]["live_bytes"]),
                  (len(curve), max(curve), curve[-1]), f"figures of rank {rank}")
    found = {finding["lane"]: finding["title"] for finding in page.meta["findings"]}
    tap.equal(sorted(found), [0, 1, 2], "lanes of findings")
    for rank, title in found.items():
        tap.contains(title, f"of rank {rank} ")


@tap.test("ranks on different devices have a lane each, and a file of one rank has one lane")
def _(folder):
    path, curves = merged(folder, devices=(0, 1, 1))
    good("report", path, "-o", f"{folder}/p.html")
    page = page_data.Page(f"{folder}/p.html")
    tap.equal([(lane["device"], lane["rank"]) for lane in page.meta["lanes"]], [(0, 0), (1, 1), (1, 2)], "lanes")
    tap.equal(page.column("curve", "last", 2), curves[2], "curve of rank 2")
    good("report", DATA / "peer/leaky/events.json", "-o", f"{folder}/one.html")
    one = page_data.Page(f"{folder}/one.html").meta["lanes"]
    tap.equal([(lane["device"], lane["rank"]) for lane in one], [(0, None)], "lanes of one rank")


@tap.test("the picture has a curve for each rank")
def _(folder):
    path, _ = merged(folder)
    for kind in ((), ("--kind", "ranks"), ("--device", "0")):
        done = plot(path, "-o", f"{folder}/p.svg", *kind)
        tap.equal((done.returncode, done.stderr), (0, ""), f"plot {kind}")
        tops = [min(curve) for curve in curves_of(f"{folder}/p.svg")]
        tap.equal(len(tops), 3, f"curves {kind}")
        tap.true(tops[0] < tops[1] < tops[2], f"rank 0 is the highest, rank 2 the lowest: {tops}")


@tap.test("a device that no rank has is refused, and the message lists each device once")
def _(folder):
    path, _ = merged(folder, devices=(0, 1, 1))
    for done in (plot(path, "--device", "7", "-o", f"{folder}/p.svg"), stormlog("analyze", path, "--device", "7"),
                 stormlog("report", path, "--device", "7", "-o", f"{folder}/p.html")):
        tap.true(done.returncode != 0, "exit code")
        tap.contains(done.stderr, "it has 0, 1\n")


@tap.test("with several ranks, the report names the rank of each device and finding")
def _(folder):
    path, _ = merged(folder)
    report = json.loads(good("analyze", path, "--format", "json"))
    tap.equal([(row["device"], row["rank"]) for row in report["devices"]], [(0, 0), (0, 1), (0, 2)], "devices")
    tap.equal({row["rank"] for row in report["findings"]}, {0, 1, 2}, "findings")
    tap.true(re.match("Leak: device 0 of rank [012] leaks ", report["headline"]), f"headline: {report['headline']}")
    text, markdown = good("analyze", path), good("analyze", path, "--format", "md")
    for rank in range(3):
        tap.contains(text, f"\nDevice 0 of rank {rank}\n")
        tap.contains(text, f", device 0 of rank {rank}\n")
        tap.contains(markdown, f"\n### Memory of device 0 of rank {rank}\n")
    one = DATA / "peer/leaky/events.json"
    report = json.loads(good("analyze", one, "--format", "json"))
    tap.equal([row["rank"] for row in report["devices"] + report["findings"]], [None, None], "a run of one process")
    tap.contains(good("analyze", one), "\nDevice 0\n")


@tap.test("diff compares each rank with the same rank")
def _(folder):
    path, curves = merged(folder)
    diffs = json.loads(good("diff", f"{path}@start", path, "--format", "json"))["diffs"]
    tap.equal([d["after"]["live_requested_bytes"] for d in diffs], [curve[-1] for curve in curves], "live after")
    diffs = json.loads(good("diff", f"{path}@8s", f"{path}@peak", "--format", "json"))["diffs"]
    tap.equal([d["after"]["live_requested_bytes"] for d in diffs], [max(curve) for curve in curves], "live at the peak")
    before = [d["before"]["live_requested_bytes"] for d in diffs]
    tap.true(max(curves[0]) > before[0] > before[1] > before[2] > 0, f"live after 8 s: {before}")
    text = good("diff", f"{path}@8s", path)
    tap.equal(len(re.findall(r"7\.9\d s after its\s+start:\s+[\d.]+\s+\wiB\n", text)), 3, text)
    done = stormlog("diff", f"{path}@step:3", path)
    tap.equal((done.returncode, len(done.stderr.splitlines())), (2, 1), f"a step: {done.stderr}")


@tap.test("the timeline of a file with several ranks shows the rank with the highest peak")
def _(folder):
    path, _ = merged(folder)
    with open(path, encoding="utf-8") as file:
        records = json.load(file)
    alone = f"{folder}/alone/merged.json"
    os.mkdir(f"{folder}/alone")
    with open(alone, "w", encoding="utf-8") as file:
        json.dump([record for record in records if record["rank"] == 0], file)
    pictures = []
    for number, source in enumerate((path, alone)):
        done = plot(source, "--kind", "timeline", "-o", f"{folder}/{number}.svg")
        tap.equal((done.returncode, done.stderr), (0, ""), "plot")
        with open(f"{folder}/{number}.svg", encoding="utf-8") as file:
            # Areas and lines of the chart; glyphs and their numbers are not compared.
            pictures.append(re.findall(r'<path [^>]*d="M [\d.]+ [\d.]+ (?:L [^"]{200,})"', file.read()))
    tap.true(len(pictures[0]) > 0, "something is drawn")
    tap.equal(pictures[0], pictures[1], "the same areas")


tap.main()
