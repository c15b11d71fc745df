# SPDX-License-Identifier: MIT
"""A program on a terminal that is ours, as sshd has one: what it sends is read byte by byte, and closing it ends the connection."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

import tap
from tmux_terminal import PATIENCE_S


class Line:
    def __init__(self, *command, folder=None, environment=None, ignores_hangup=False, size=(100, 30)):
        self.sent, self.at = b"", 0
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(environment or {})})
            os.environ.pop("NO_COLOR", None)
            if folder:
                os.chdir(folder)
            if ignores_hangup:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
            os.execv(command[0], command)
        os.set_blocking(self.fd, False)
        self.resize(*size)

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def write(self, data):
        """Reads meanwhile: a program that waits for us to read takes no keys."""
        while data:
            ready = select.select([self.fd], [self.fd], [], PATIENCE_S)
            tap.true(ready[0] or ready[1], "the program takes what is typed")
            if ready[1]:
                data = data[os.write(self.fd, data):]
            if ready[0] and not self.take(0):
                raise OSError("the program has closed its terminal")

    def take(self, seconds):
        """Reads what comes within this time; False at the end of the terminal."""
        try:
            while select.select([self.fd], [], [], seconds)[0]:
                data = os.read(self.fd, 65536)
                if not data:
                    return False
                self.sent += data
                seconds = 0
        except OSError:  # how Linux tells that the program has closed it
            return False
        return True

    def wait_for(self, text):
        """The text, in one piece, after the one that was waited for before."""
        end = time.monotonic() + PATIENCE_S
        while text not in self.sent[self.at:]:
            tap.true(time.monotonic() < end and self.take(1), f"{text!r} in {self.sent[self.at:][-2000:]!r}")
        self.at = self.sent.index(text, self.at) + len(text)

    def hang_up(self):
        os.close(self.fd)
        self.fd = -1

    def wait_for_end(self):
        """The exit code, negative for a signal. Whoever has not hung up goes on reading, so that the program can end."""
        end = time.monotonic() + PATIENCE_S
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            tap.true(time.monotonic() < end, "the program ends")
            if self.fd < 0 or not self.take(0.05):
                time.sleep(0.05)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
