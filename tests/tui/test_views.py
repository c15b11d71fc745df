# SPDX-License-Identifier: MIT
"""The views of the full-screen program as text: golden grids, and rules that hold at every size.

Arguments: the paths of tui_probe and of tui_absent. TUI_GOLDEN_UPDATE=1 writes the golden files anew; read the diff.
"""

import os
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
    tap.contains(result.stdout, "stormlog top")


tap.main()
