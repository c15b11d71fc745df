# SPDX-License-Identifier: MIT
"""Shared by the command-line tests: the program, the data, and running the program on the data."""

import os
import sys
from pathlib import Path

import tap

STORMLOG = os.path.abspath(sys.argv[1])
del sys.argv[1]
ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
H200 = sorted((DATA / "h200").glob("*.pickle.gz"))
COLUMNS = 80
# With a sanitizer: what cairo's fonts keep until the process ends is no leak.
FONTS = {"LSAN_OPTIONS": f"suppressions={ROOT}/tests/cli/lsan_fonts.supp:print_suppressions=0"}


def stormlog(*arguments, **options):
    """Runs the program without the settings of this terminal and locale; returns the finished process."""
    env = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1", **options.pop("env", {})}
    return tap.run([STORMLOG, *map(str, arguments)], env=env, stdin=-3, **options)


def good(*arguments, **options):
    """The same for a run that must succeed; returns standard output."""
    done = stormlog(*arguments, **options)
    tap.equal(done.returncode, 0, f"exit code of {arguments}; stderr {done.stderr!r}")
    return done.stdout


def commands():
    """The names of the listed commands, from the program's own help."""
    listing = good("--help").split("\ncommands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listing.splitlines() if line[2] != " "]


def fits(text, what):
    for line in text.splitlines():
        if len(line) > COLUMNS:
            raise AssertionError(f"{what}: {len(line)} columns: {line!r}")
