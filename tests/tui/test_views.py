# SPDX-License-Identifier: MIT
"""The views of the full-screen program as text: golden grids, and rules that hold at every size.

Arguments: the paths of tui_probe and of tui_absent. TUI_GOLDEN_UPDATE=1 writes the golden files anew; read the diff.
"""

import gzip
import os
import pickle
import re
import sys
from pathlib import Path

import tap

PROBE, ABSENT = sys.argv.pop(1), sys.argv.pop(1)
HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data"
SIZES = [(20, 6), (44, 12), (80, 24), (132, 40), (200, 60), (300, 100)]


def check_golden(name, arguments):
    result = tap.run([PROBE, "draw", *arguments])
    tap.equal(result.returncode, 0, result.stderr)
    golden = HERE / "golden" / f"{name}.txt"
    if os.environ.get("TUI_GOLDEN_UPDATE"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(result.stdout)
    tap.equal(result.stdout, golden.read_text(), name)


def add_golden(name, arguments):
    tap.test(f"every view as it was: {name}")(lambda: check_golden(name, arguments))


for width, height in SIZES:
    add_golden(f"{width}x{height}", [str(width), str(height)])
add_golden("80x24-ascii", ["80", "24", "ascii"])
add_golden("80x24-mono", ["80", "24", "mono"])


@tap.test("nothing overlaps and no number is cut at sizes from 20 x 6 to 400 x 120")
def _():
    result = tap.run([PROBE, "sweep"])
    tap.equal(result.returncode, 0, result.stdout[-3000:])
    tap.contains(result.stdout, " 0 break the rules")


def add_sweep(path):
    @tap.test(f"nothing overlaps and no number is cut with {path}")
    def _():
        result = tap.run([PROBE, "sweep-file", str(DATA / path)])
        tap.equal(result.returncode, 0, result.stdout[-3000:] + result.stderr)
        tap.contains(result.stdout, " 0 break the rules")


for name in ("h200/s1_loss_history.pickle.gz", "h200/s5_oom.pickle.gz", "slog/nccl.slog.xz", "peer/oom", "slog/leak.slog.xz"):
    add_sweep(name)


def first_and_whole(path):
    result = tap.run([PROBE, "first", str(path)])
    tap.equal(result.returncode, 0, result.stderr)
    parts = [part.split("\n", 1) for part in result.stdout.split("---- ")[1:]]
    return {name: text for name, text in parts}


def figures_of(screen, place):
    """The columns of a line of code in Sites: live, growth, peak, blocks."""
    row = next(line for line in screen.splitlines() if place in line)
    return re.findall(r"[+-]?[\d.,]+ ?[KMG]?i?B?|unknown", row.split(place)[0])


@tap.test("what is live at the end of a snapshot is on the screen before its events are read")
def _():
    shown = first_and_whole(DATA / "h200" / "s1_loss_history.pickle.gz")
    first, whole = (figures_of(shown[f"{when} Sites"], "s1_loss_history.py:8 in") for when in ("first", "whole"))
    tap.equal(first[1:3], ["unknown", "unknown"], "growth and peak need the events")
    tap.equal((first[0], first[3]), (whole[0], whole[3]), "live bytes and blocks are the same")
    tap.contains(shown["first Sites"], "growth: known when all events are read")
    tap.contains(shown["first Sites"], "(known when all events are read)")
    tap.contains(shown["whole Sites"], "(no Python stack: autograd backward)")
    allocated = re.search(r"allocated [\d.]+ .iB", shown["whole Live"]).group()
    tap.contains(shown["first Live"], allocated)
    tap.true("peak" not in shown["first Live"], "no peak yet")
    tap.contains(shown["whole Live"], "peak")


@tap.test("a snapshot without a history has lines and totals, and says that it has no curves")
def _(folder):
    with gzip.open(DATA / "h200" / "s1_loss_history.pickle.gz") as file:
        snapshot = pickle.load(file)
    snapshot["device_traces"] = [[] for _ in snapshot["device_traces"]]
    path = Path(folder, "no_history.pickle")
    path.write_bytes(pickle.dumps(snapshot))
    shown = first_and_whole(path)
    tap.contains(shown["whole Sites"], "growth: unknown, the input has no history")
    tap.equal(figures_of(shown["whole Sites"], "s1_loss_history.py:8 in"), figures_of(shown["first Sites"], "s1_loss_history.py:8 in"))
    tap.contains(shown["whole Live"], "This input has no history")
    for when in ("first", "whole"):
        tap.true(re.search(r"allocated [\d.]+ .iB", shown[f"{when} Live"]), "allocated bytes")


@tap.test("ASCII screens contain only ASCII")
def _():
    result = tap.run([PROBE, "draw", "100", "30", "ascii"])
    tap.true(result.stdout.isascii(), "only ASCII characters")


@tap.test("an unchanged screen sends no bytes, and a changing one few")
def _():
    sizes = dict(line.split(": ") for line in tap.run([PROBE, "bytes"]).stdout.splitlines())
    tap.equal(sizes["idle"], "0 bytes")
    first, busy = (int(sizes[name].split()[0]) for name in ("first screen", "busy"))
    tap.true(busy * 2 < first, f"a frame later costs less than half of the first one ({busy} of {first} bytes)")


@tap.test("a screen can be saved as a picture that is well-formed XML, with every word of it")
def _():
    import xml.etree.ElementTree as tree

    for view in range(15):
        svg = tree.fromstring(tap.run([PROBE, "svg", "100", "30", str(view)]).stdout)
        text = "".join("".join(node.itertext()) for node in svg)
        shown = tap.run([PROBE, "draw", "100", "30"]).stdout.split("---- ")[view + 1].split("\n", 1)[1]
        letters = "".join(ch for ch in shown if ch.isalnum())
        tap.equal("".join(ch for ch in text if ch.isalnum()), letters, f"letters and digits of view {view}")


@tap.test("a build without ncurses says so in one line, and what to use instead")
def _():
    result = tap.run([ABSENT])
    tap.equal(result.returncode, 4, "exit code")
    tap.equal(len(result.stdout.splitlines()), 1, result.stdout)
    tap.contains(result.stdout, "ncursesw")
    tap.contains(result.stdout, "'stormlog analyze PATH', 'stormlog top'")


tap.main()
