# SPDX-License-Identifier: MIT
"""The progress line: on a terminal, after a second, gone when done; elsewhere not a byte. A pipe that is filled late makes
reading slow without a clock. Arguments: the program."""

import gzip
import os
import re
import threading

import tap
from cli import H200, STORMLOG
from terminal import Terminal, left_on_screen

READING = r"\rreading [^\r]*: [^\r]* so far\x1b\[K"


class SlowFile:
    """A pipe with a snapshot whose second half comes when it is let go."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "slow.pickle")
        os.mkfifo(self.path)
        self.rest = threading.Event()
        threading.Thread(target=self._fill, daemon=True).start()

    def _fill(self):
        with gzip.open(H200[0], "rb") as file:
            data = file.read()
        with open(self.path, "wb", buffering=0) as pipe:
            pipe.write(data[:len(data) // 2])
            self.rest.wait(60)
            pipe.write(data[len(data) // 2:])


def expected():
    return tap.run([STORMLOG, "analyze", H200[0], "--format", "json"]).stdout


@tap.test("a slow input shows what is read, how fast and how long it takes, and the line is erased at the end")
def _(folder):
    slow = SlowFile(folder)
    at = Terminal([STORMLOG, "analyze", slow.path, "--format", "json"], at=("stderr",))
    tap.true(at.wait_for("stderr", READING), f"a line while reading; found {at.text('stderr')[-300:]!r}")
    tap.true(re.search(r": [0-9.]+ [KM]iB, [0-9.]+ [KM]?i?B/s, ", at.text("stderr")), f"size and rate: {at.text('stderr')[-300:]!r}")
    slow.rest.set()
    tap.equal(at.finish(), 0, "exit code")
    tap.equal(left_on_screen(at.text("stderr")), "", "what is left on the terminal")
    tap.equal(at.text("stdout").replace(slow.path, ""), expected().replace(str(H200[0]), ""), "standard output")


@tap.test("the progress line is no wider than the terminal")
def _(folder):
    for columns in (40, 200):
        os.makedirs(os.path.join(folder, str(columns)))
        slow = SlowFile(os.path.join(folder, str(columns)))
        at = Terminal([STORMLOG, "analyze", slow.path, "--format", "json"], at=("stderr",), columns=columns)
        tap.true(at.wait_for("stderr", r"\rreading[^\r]*\x1b\[K"), f"a line at {columns} columns")
        slow.rest.set()
        tap.equal(at.finish(), 0, "exit code")
        for line in at.text("stderr").split("\r"):
            text = line.replace("\x1b[K", "")
            tap.true(len(text) < columns, f"{len(text)} of {columns} columns: {text!r}")


@tap.test("a message is never printed into the progress line")
def _(folder):
    slow = SlowFile(folder)
    at = Terminal([STORMLOG, "analyze", slow.path, "--filter", "no such place"], at=("stdout", "stderr"))
    tap.true(at.wait_for("stderr", READING), "a line while reading")
    slow.rest.set()
    tap.equal(at.finish(), 2, "exit code")
    screen = left_on_screen(at.text("stderr")).rstrip("\n")
    tap.true(screen.startswith("stormlog: ") and "\n" not in screen and "reading" not in screen, f"one message: {screen!r}")


def silent(folder, name, at, **options):
    os.makedirs(os.path.join(folder, name))
    slow = SlowFile(os.path.join(folder, name))
    shown = Terminal([STORMLOG, "analyze", slow.path, "--format", "json"], at=at, **options)
    # Longer than a line takes to appear; a machine that is slower only makes the test weaker, never wrong.
    shown.wait_for("stderr", "reading", limit_s=2)
    slow.rest.set()
    tap.equal((shown.finish(), shown.text("stderr")), (0, ""), f"{name}: exit code and standard error")


@tap.test("nothing is written when standard error is not a terminal, or with TERM=dumb")
def _(folder):
    silent(folder, "pipe", ("stdout",))
    silent(folder, "dumb", ("stdout", "stderr"), env={"TERM": "dumb"})
    silent(folder, "unset", ("stdout", "stderr"), env={"TERM": ""})


@tap.test("a quick command shows no progress line")
def _():
    tap.needs("gzip")
    at = Terminal([STORMLOG, "analyze", H200[0], "--format", "json"], at=("stderr",))
    tap.equal(at.finish(), 0, "exit code")
    tap.equal(left_on_screen(at.text("stderr")), "", "what is left")


tap.main()
