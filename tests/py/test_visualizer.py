# SPDX-License-Identifier: MIT
"""Pictures: they are well-formed, show their data, and refuse what cannot be drawn."""

import csv
import json
import os
from pathlib import Path
from xml.etree import ElementTree

import records
import tap
from stormlog import MemorySnapshot, MemoryVisualizer, ProfileResult, _read
from stormlog.tensorflow import profiler as tf_profiler
from stormlog.tensorflow.visualizer import MemoryVisualizer as TFVisualizer

GIB = 1024 ** 3
SVG = "{http://www.w3.org/2000/svg}"


def snapshot(time, allocated, reserved):
    return MemorySnapshot(time, allocated, reserved, 0, 0, 0, 0, 0, operation="monitor")


def call(name, seconds, allocated, at):
    before, after = snapshot(at, 0, GIB), snapshot(at + seconds, allocated, 2 * GIB)
    return ProfileResult(name, seconds, before, after, after, allocated, 0, 0, 0)


CALLS = [call("forward", 0.5, GIB, 100.0), call("back<ward>", 1.0, 2 * GIB, 101.0), call("forward", 0.7, GIB, 103.0)]
POINTS = [snapshot(100.0 + i, i * GIB, 8 * GIB) for i in range(5)]


def texts(figure):
    root = ElementTree.fromstring(figure._repr_svg_())
    return ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]


def shapes(figure, kind):
    return list(ElementTree.fromstring(figure._repr_svg_()).iter(SVG + kind))


def data_lines(figure):
    """Lines of data are wider than those of the axes."""
    return [line for line in shapes(figure, "polyline") if line.get("stroke-width") == "1.5"]


@tap.test("the timeline has two panels, in order of time")
def _(folder):
    figure = MemoryVisualizer().plot_memory_timeline(CALLS, POINTS, save_path=Path(folder) / "new" / "t.svg")
    tap.equal(len(data_lines(figure)), 2, "lines")
    xs = [float(pair.split(",")[0]) for pair in data_lines(figure)[0].get("points").split()]
    tap.equal((xs, len(xs)), (sorted(xs), 11), "points from left to right")
    tap.true({"Allocated", "Reserved", "seconds", "GB"} <= set(texts(figure)), "words")
    ElementTree.parse(Path(folder) / "new" / "t.svg")
    page = Path(folder) / "t.html"
    MemoryVisualizer().plot_memory_timeline(CALLS, save_path=page)
    tap.contains(page.read_text(), "<svg")
    tap.true("http" not in page.read_text().replace("http://www.w3.org/2000/svg", ""), "nothing is loaded from elsewhere")


@tap.test("names are text, never markup")
def _():
    figure = MemoryVisualizer().plot_function_comparison(CALLS, metric="peak_memory")
    tap.true("back<ward>" in texts(figure), "the name as it is")
    bars = [bar for bar in shapes(figure, "rect") if bar.get("fill") == "#0072b2"]
    heights = [float(bar.get("height")) for bar in bars]
    tap.true(abs(heights[1] / heights[0] - 2) < 0.01, f"2 GB is twice 1 GB: {heights}")


@tap.test("the heat map and the dashboard have their cells and panels")
def _(folder):
    figure = MemoryVisualizer().plot_memory_heatmap(CALLS)
    tap.true({"forward", "seconds", "peak MB", "1024"} <= set(texts(figure)), f"cells: {texts(figure)}")
    board = MemoryVisualizer().create_dashboard(CALLS, POINTS)
    tap.true({"Timeline", "Memory allocated", "Allocations by size", "Time and peak"} <= set(texts(board)), "panels")
    MemoryVisualizer().create_dashboard().save(Path(folder) / "empty.svg")


@tap.test("the timeline of ranks has a line per rank, the onset and one suspect")
def _():
    values = {0: [1, 1, 1, 1.34], 2: [1, 1, 1.38, 1.40]}
    events = [records.event(timestamp_ns=records.BASE_NS + i * records.STEP_NS, rank=rank, world_size=3, job_id="job7",
                            device_used_bytes=int(value * GIB), device_total_bytes=records.TOTAL)
              for rank, row in values.items() for i, value in enumerate(row)]
    figure = MemoryVisualizer().plot_cross_rank_timeline(events)
    tap.equal(len(data_lines(figure)), 2, "lines")
    tap.true({"Cluster onset", "rank 0", "rank 2"} <= set(texts(figure)), "words")
    tap.contains(texts(figure)[0], "job7")
    tap.equal(len([dot for dot in shapes(figure, "circle") if dot.get("fill") == "#dc143c"]), 1, "marker")


@tap.test("missing data, an unknown metric and an unknown kind of file raise ValueError")
def _(folder):
    draw = MemoryVisualizer()
    for attempt in (draw.plot_memory_timeline, draw.plot_function_comparison, draw.plot_memory_heatmap, draw.export_data,
                    lambda: draw.plot_cross_rank_timeline([]), lambda: draw.plot_function_comparison(CALLS, "color"),
                    lambda: draw.export_data(CALLS, format="xml"),
                    lambda: draw.plot_memory_timeline(CALLS, save_path=Path(folder) / "x.bmp")):
        try:
            attempt()
        except ValueError:
            continue
        raise AssertionError(f"{attempt} was accepted")
    tap.equal(os.listdir(folder), [], "no file")


@tap.test("a PNG has the size of the dashboard")
def _(folder):
    path = Path(folder) / "new" / "t.png"
    try:
        MemoryVisualizer().create_dashboard(CALLS, POINTS, save_path=path)
    except RuntimeError as error:
        tap.contains(str(error), "cairo")
        tap.skip("this build has no cairo, and says so")
    head = path.read_bytes()[:24]
    tap.equal((head[:8], int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")),
              (b"\x89PNG\r\n\x1a\n", 1400, 800), "PNG of 1400 by 800")


@tap.test("data is exported under the path that is returned")
def _(folder):
    base = os.path.join(folder, "new", "data")
    path = MemoryVisualizer().export_data(CALLS, POINTS, save_path=base)
    with open(path) as file:
        rows = list(csv.DictReader(file))
    tap.equal((len(rows), rows[0]["function_name"], rows[0]["peak_memory"]), (3, "forward", str(GIB)), "results")
    tap.equal(len(os.listdir(os.path.join(folder, "new"))), 2, "results and snapshots")
    path = MemoryVisualizer().export_data(CALLS, format="json", save_path=base)
    tap.equal(json.loads(Path(path).read_text())["metadata"]["num_results"], 3, "json")


@tap.test("the TensorFlow visualizer saves its plots and exports its data")
def _(folder):
    points = [tf_profiler.MemorySnapshot(float(i), "s", 10.0 * i, 5.0, 100.0, 0.0, 0) for i in range(12)]
    profile = {"calls": 1, "total_duration": 1.0, "total_memory_used": 1.0, "peak_memory": 7.0, "snapshots": []}
    result = tf_profiler.ProfileResult(0.0, 11.0, 110.0, 55.0, 0.0, 11, 0, points, {"f": profile})
    draw = TFVisualizer()
    saved = draw.save_plots(result, Path(folder) / "plots")
    tap.equal(sorted(os.path.basename(path) for path in saved),
              ["function_comparison.svg", "heatmap.svg", "timeline.svg"], "files")
    for path in saved:
        ElementTree.parse(path)
    tap.equal(draw.plot_function_comparison({}), None, "no data")
    draw.export_data(result, Path(folder) / "x.csv")
    draw.export_data(result, Path(folder) / "x.json", format="json")
    tap.equal(len((Path(folder) / "x.csv").read_text().splitlines()), 13, "csv")


@tap.test("a chart refuses data without a panel, and x and y lists of different lengths")
def _():
    chart = _read.Chart("t")
    for attempt in (lambda: chart.series("s", None, [1]), lambda: chart.panel("pie", "p"), lambda: chart.label("x"),
                    lambda: _read.Chart("t", 5, 5)):
        try:
            attempt()
        except ValueError:
            continue
        raise AssertionError("expected a ValueError")
    chart.panel("lines", "p")
    try:
        chart.series("s", [1, 2], [1])
    except ValueError:
        return
    raise AssertionError("expected a ValueError")


@tap.test("NaN, infinity, and flat or empty lines are drawn without an error")
def _():
    for values in ([], [5.0], [3.0, 3.0], [float("nan"), 1.0], [float("inf"), -1.0]):
        chart = _read.Chart("t")
        for kind in ("lines", "points", "bars", "cells"):
            chart.panel(kind, kind)
            for number in range(len(values)):
                chart.label(str(number))
            chart.series("s", None, values)
        tap.true("nan" not in "".join(node.get("points") or "" for node in
                                      ElementTree.fromstring(chart.svg()).iter()), f"{values}")


tap.main()
