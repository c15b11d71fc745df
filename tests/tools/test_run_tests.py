# SPDX-License-Identifier: MIT
"""What the runner counts as passed, failed and skipped. If it missed a failure, every test would be useless."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import tap  # noqa: E402
import tap_parse  # noqa: E402
from tap_parse import Ending, judge_exit_code, judge_tap  # noqa: E402


def brief(points):
    return [(point.status, point.name, point.reason) for point in points]


# name: (text, ending, expected points)
TAP_CASES = {
    "good points pass": ("1..2\nok 1 - a\nok 2 - b\n", Ending(0), [("pass", "a", ""), ("pass", "b", "")]),
    "a bad point fails": ("1..1\nnot ok 1 - a\n# why\n", Ending(1), [("fail", "a", "")]),
    "a skip keeps its reason": ("1..1\nok 1 - a # SKIP no device\n", Ending(0), [("skip", "a", "no device")]),
    "cmocka's skip is no failure and takes the reason printed before": (
        "1..1\n# skip reason: no zstd\nnot ok 1 # SKIP test_a\n", Ending(0), [("skip", "test_a", "no zstd")]),
    "a hash inside a name is no directive": ("1..1\nok 1 - issue #12\n", Ending(0), [("pass", "issue #12", "")]),
    "plans of several groups add up": (
        "1..1\nok 1 - a\n1..1\nok 1 - b\n", Ending(0), [("pass", "a", ""), ("pass", "b", "")]),
    "fewer tests than planned fail": (
        "1..3\nok 1 - a\n", Ending(0), [("pass", "a", ""), ("fail", "planned 3 tests, ran 1", "")]),
    "a whole file skipped by its plan": ("1..0 # SKIP nothing here\n", Ending(0), [("skip", "", "nothing here")]),
    "a signal fails": ("1..2\nok 1 - a\n", Ending(-11), [("pass", "a", ""), ("fail", "died of SIGSEGV", "")]),
    "a time-out fails": ("1..1\n", Ending(-9, 5), [("fail", "timed out after 5 s", "")]),
    "an error exit after good points fails": (
        "1..1\nok 1 - a\n", Ending(23), [("pass", "a", ""), ("fail", "exit code 23 although no test failed", "")]),
    "silence fails": ("", Ending(0), [("fail", "printed no test result, exit code 0", "")]),
    "exit 77 skips, the last line says why": ("# no GPU\n", Ending(77), [("skip", "", "no GPU")]),
    "bail out fails": ("ok 1 - a\nBail out! disk full\n", Ending(1), [("pass", "a", ""), ("fail", "bail out", "disk full")]),
}

EXIT_CASES = {
    "exit 0 passes": ("", Ending(0), [("pass", "", "")]),
    "exit 1 fails": ("", Ending(1), [("fail", "exit code 1", "")]),
    "exit 77 skips": ("no clang-format\n", Ending(77), [("skip", "", "no clang-format")]),
    "an unknown signal fails": ("", Ending(-40), [("fail", "died of signal 40", "")]),
}


def add(kind, judge, name, text, ending, expected):
    @tap.test(f"{kind}: {name}")
    def _():
        tap.equal(brief(judge(text, ending)), expected, "points")


for case, row in TAP_CASES.items():
    add("tap", judge_tap, case, *row)
for case, row in EXIT_CASES.items():
    add("exit code", judge_exit_code, case, *row)

tap.main()
