# SPDX-License-Identifier: MIT
"""A terminal with a shell command at it: what is on its screen, and keys to press."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

from terminal import left_on_screen

ROWS = 50


class Screen:
    """`command` is run by bash, in a session of its own, with this terminal as its standard streams."""

    def __init__(self, command, columns, cwd, env):
        self.written, self.is_over = b"", False
        self.end, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        self.process = subprocess.Popen(
            ["bash", "-c", command], stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, env=env, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)

    def _take(self, seconds):
        """False when nobody writes to the terminal any more."""
        if self.is_over:
            return False
        ready, _, _ = select.select([self.end], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.end, 65536)
        except OSError:  # how Linux tells that the other end is closed
            data = b""
        self.written += data
        self.is_over = not data
        return bool(data)

    def text(self):
        """What is on the screen."""
        return left_on_screen(self.written.decode("utf-8", "backslashreplace"))

    def wait_for(self, is_there, limit_s):
        """Until the predicate holds for the text; False when the command ended before or the time is over."""
        end = time.monotonic() + limit_s
        while not is_there(self.text()):
            if time.monotonic() > end or not self._take(0.2):
                return is_there(self.text())
        return True

    def press(self, keys):
        os.write(self.end, keys)

    def finish(self, limit_s):
        """The exit code as a shell has it. Our end stays open until then: closing it would send SIGHUP."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end and self._take(0.2):
            pass
        code = self.process.wait(timeout=max(1, end - time.monotonic()))
        return code if code >= 0 else 128 - code

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        if self.end is not None:
            os.close(self.end)
            self.end = None
