# SPDX-License-Identifier: MIT
"""A program at a terminal of a given width: what it writes to each stream, byte for byte."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time


def open_terminal(columns):
    """(our end, the program's end) of a terminal that changes no byte of the output."""
    ours, theirs = pty.openpty()
    attributes = termios.tcgetattr(theirs)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    return ours, theirs


class Terminal:
    """A process whose streams named in `at` ("stdout", "stderr") are each a terminal of their own; the others are captured by
    a pipe."""

    def __init__(self, command, at=("stdout", "stderr"), columns=80, env=None, cwd=None):
        own = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
        env = {**own, "TERM": "xterm", "LC_ALL": "C.UTF-8", **(env or {})}
        self.texts, self.names, theirs = {}, {}, {}
        for stream in ("stdout", "stderr"):
            ours, theirs[stream] = open_terminal(columns) if stream in at else os.pipe()
            self.names[ours] = stream
            self.texts[stream] = b""
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=theirs["stdout"],
                                        stderr=theirs["stderr"], env=env, cwd=cwd)
        for end in theirs.values():
            os.close(end)

    def _take(self, timeout):
        ready, _, _ = select.select(list(self.names), [], [], timeout)
        for end in ready:
            try:
                data = os.read(end, 65536)
            except OSError:  # every writer of the terminal has closed it
                data = b""
            if data:
                self.texts[self.names[end]] += data
            else:
                os.close(end)
                del self.names[end]

    def text(self, stream):
        return self.texts[stream].decode("utf-8", "backslashreplace")

    def wait_for(self, stream, pattern, limit_s=40):
        """Waits until the stream shows this pattern; False when the program ended before."""
        end = time.monotonic() + limit_s
        while not re.search(pattern, self.text(stream)):
            if not self.names or time.monotonic() > end:
                return False
            self._take(1)
        return True

    def finish(self, limit_s=40):
        """Waits for both streams to end; returns the exit code."""
        end = time.monotonic() + limit_s
        while self.names and time.monotonic() < end:
            self._take(1)
        return self.process.wait(timeout=10)


def left_on_screen(text):
    """What a terminal shows in the end: "\\r" goes to the beginning of the line, "\\x1b[K" removes the rest of it, and a picture that is
    drawn again ("\\x1b[H\\x1b[J") replaces what was above it. Colours and links are left out."""
    lines = [""]
    column = 0
    for part in re.findall(r"\x1b\[H\x1b\[J|\x1b\[[0-9;]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\|.", text, re.DOTALL):
        if part == "\r":
            column = 0
        elif part == "\x1b[H\x1b[J":
            lines, column = [""], 0
        elif part == "\n":
            lines.append("")
            column = 0
        elif part == "\x1b[K":
            lines[-1] = lines[-1][:column]
        elif part[0] != "\x1b":
            lines[-1] = lines[-1][:column] + part + lines[-1][column + 1:]
            column += 1
    return "\n".join(lines)
