# SPDX-License-Identifier: MIT
"""Turns what a test program printed, and how it ended, into test points.

The programs print TAP (https://testanything.org): cmocka's and tests/lib/tap.py's flavour of it. A program is not trusted to
report how it ended: a crash, a hang, fewer tests than planned, or an error exit after only passed points becomes an additional
failed point.
"""

import re
import signal
from dataclasses import dataclass

PASS, FAIL, SKIP = "pass", "fail", "skip"

EXIT_SKIPPED = 77  # the automake and meson convention for "this program cannot run here"

POINT = re.compile(r"^(?P<no>not )?ok\b\s*(?P<number>\d+)?\s*(?:-\s*)?(?P<rest>.*)$")
PLAN = re.compile(r"^1\.\.(?P<count>\d+)(?:\s*#\s*skip\S*\s*(?P<reason>.*))?\s*$", re.IGNORECASE)
DIRECTIVE = re.compile(r"(?:^|\s)#\s*skip\S*\s*(?P<reason>.*)$", re.IGNORECASE)
# cmocka's skip() carries no text; tests/lib/sltest.h prints the reason on a line of its own before it.
SKIP_REASON = re.compile(r"^#\s*skip reason:\s*(?P<reason>.*)$")


@dataclass
class Point:
    name: str
    status: str
    reason: str = ""


@dataclass
class Ending:
    """How the process ended; exactly one of the fields is used, returncode if neither other is set."""

    returncode: int
    timeout_s: float = 0  # set when it was killed for taking longer than this


def parse_tap(text):
    """Returns (points, planned count or None). cmocka prints one plan for each group: they add up."""
    points, planned, pending_reason = [], None, ""
    for line in text.splitlines():
        reason = SKIP_REASON.match(line)
        if reason:
            pending_reason = reason["reason"]
            continue
        plan = PLAN.match(line)
        if plan:
            planned = (planned or 0) + int(plan["count"])
            if plan["reason"] is not None and int(plan["count"]) == 0:
                points.append(Point("", SKIP, plan["reason"] or "no reason given"))
                planned += 1
            continue
        if line.startswith("Bail out!"):
            points.append(Point("bail out", FAIL, line[len("Bail out!"):].strip()))
            continue
        match = POINT.match(line)
        if not match:
            continue
        points.append(point_from(match, pending_reason))
        pending_reason = ""
    return points, planned


def point_from(match, pending_reason):
    rest = match["rest"].strip()
    directive = DIRECTIVE.search(rest)
    if not directive:
        return Point(rest, FAIL if match["no"] else PASS)
    # TAP puts the name before the directive; cmocka 1.1 puts it after, where other programs put the reason.
    name, after = rest[:directive.start()].strip(), directive["reason"].strip()
    if not name:
        name, after = after, ""
    return Point(name, SKIP, after or pending_reason or "no reason given")


def describe_ending(ending):
    """The failure that this ending means, or '' for a normal end (with any exit code)."""
    if ending.timeout_s:
        return f"timed out after {ending.timeout_s:g} s"
    if ending.returncode < 0:
        try:
            return f"died of {signal.Signals(-ending.returncode).name}"
        except ValueError:
            return f"died of signal {-ending.returncode}"
    return ""


def judge_tap(text, ending):
    """All points of a TAP program, those it did not print itself included."""
    died = describe_ending(ending)
    if ending.returncode == EXIT_SKIPPED and not died:
        return [Point("", SKIP, last_line(text))]
    points, planned = parse_tap(text)
    if died:
        points.append(Point(died, FAIL))
    elif planned is not None and planned != len(points):
        points.append(Point(f"planned {planned} tests, ran {len(points)}", FAIL))
    elif not points:
        points.append(Point(f"printed no test result, exit code {ending.returncode}", FAIL))
    elif ending.returncode != 0 and all(point.status != FAIL for point in points):
        points.append(Point(f"exit code {ending.returncode} although no test failed", FAIL))
    return points


def judge_exit_code(text, ending):
    """The single point of a program that reports only by its exit code."""
    died = describe_ending(ending)
    if died:
        return [Point(died, FAIL)]
    if ending.returncode == EXIT_SKIPPED:
        return [Point("", SKIP, last_line(text))]
    if ending.returncode != 0:
        return [Point(f"exit code {ending.returncode}", FAIL)]
    return [Point("", PASS)]


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].lstrip("# ") if lines else "no reason given"
