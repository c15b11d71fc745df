# SPDX-License-Identifier: MIT
"""A program in a real terminal: tmux sends the keys and shows the screen. Every step waits for a text, never for a time."""

import os
import shutil
import time
from pathlib import Path

import tap

# Generous, because the machine may be busy.
PATIENCE_S = 180


class Terminal:
    """One tmux server with one window, in which a command runs."""

    def __init__(self, folder, command, size=(100, 30), environment=""):
        if not shutil.which("tmux"):
            tap.skip("tmux is not installed")
        self.socket = os.path.join(folder, "tmux")
        self.marker = os.path.join(folder, "ended")
        inner = f"env LC_ALL=C.UTF-8 {environment} {command}; echo ended $? > {self.marker}; stty -a | grep -o '[-]*icanon'; cat"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), "-c", folder, inner)
        self.tmux("set-option", "-s", "set-clipboard", "on")

    def tmux(self, *arguments):
        environment = {key: value for key, value in os.environ.items() if key not in ("TMUX", "NO_COLOR", "COLORTERM")}
        return tap.run(["tmux", "-S", self.socket, *arguments], env={**environment, "LC_ALL": "C.UTF-8"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")

    def screen(self):
        return self.tmux("capture-pane", "-p").stdout

    def wait_for(self, *texts):
        end = time.monotonic() + PATIENCE_S
        while True:
            screen = self.screen()
            if all(text in screen for text in texts):
                return screen
            if time.monotonic() > end:
                raise AssertionError(f"expected {texts!r} on the screen, found\n{screen}")
            time.sleep(0.05)

    def wait_for_none(self, text):
        end = time.monotonic() + PATIENCE_S
        while text in self.screen():
            tap.true(time.monotonic() < end, f"{text!r} goes from the screen")
            time.sleep(0.05)

    def press(self, *keys):
        for key in keys:
            self.tmux("send-keys", key)

    def pid(self):
        shell = self.tmux("display-message", "-p", "#{pane_pid}").stdout.strip()
        end = time.monotonic() + PATIENCE_S
        while True:
            tap.true(time.monotonic() < end, "stormlog runs in the terminal")
            found = tap.run(["pgrep", "-P", shell, "-x", "stormlog"]).stdout.split()
            if found:
                return int(found[0])
            time.sleep(0.05)

    def wait_for_end(self):
        end = time.monotonic() + PATIENCE_S
        while not (os.path.exists(self.marker) and os.path.getsize(self.marker)):
            if time.monotonic() > end:
                raise AssertionError(f"expected the program to end, found\n{self.screen()}")
            time.sleep(0.05)
        return Path(self.marker).read_text().strip()


def check_restored(terminal):
    """The old screen is back, and the terminal edits lines again."""
    screen = terminal.wait_for("icanon")
    tap.true("-icanon" not in screen, "the terminal is in its own mode again")
    tap.true("Help" not in screen, "the screen from before is back")
