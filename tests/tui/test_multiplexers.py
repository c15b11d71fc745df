# SPDX-License-Identifier: MIT
"""The full-screen program inside GNU screen and mosh, and on a connection that is lost.

Arguments: the path of stormlog. tmux is the terminal around both. Skips aloud where one of the programs is missing.
"""

import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path

import tap
from line import Line
from slow_input import SlowInput
from tmux_terminal import PATIENCE_S, Terminal, check_restored

STORMLOG = os.path.abspath(sys.argv.pop(1))
DATA = Path(__file__).resolve().parent.parent / "data"
SNAPSHOT = DATA / "h200" / "s1_loss_history.pickle.gz"


def need(*programs):
    for name in programs:
        if not shutil.which(name):
            tap.skip(f"{name} is not installed")


def write_inner(folder):
    """What runs inside the multiplexer: a text, the program, and how it left the terminal."""
    path = Path(folder, "inner.sh")
    path.write_text(f"echo before the program\n{STORMLOG} tui {SNAPSHOT}\necho ended $? > {folder}/inner-ended\n"
                    "echo after the program\nstty -a | grep -o '[-]*icanon'\ncat\n")
    return path


def wait_until(found, what):
    end = time.monotonic() + PATIENCE_S
    while not (value := found()):
        tap.true(time.monotonic() < end, what)
        time.sleep(0.05)
    return value


def program_of(folder):
    """The process that shows the screen: its snapshot is of this test's shell."""
    shell = tap.run(["pgrep", "-f", f"sh {folder}/inner.sh"]).stdout.split()
    found = [pid for parent in shell for pid in tap.run(["pgrep", "-P", parent, "-x", "stormlog"]).stdout.split()]
    return int(found[0]) if found else None


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def walk_and_quit(t, folder):
    """Two tabs, a smaller and a larger window, the end; what is left is the shell's own text."""
    t.wait_for("s1_loss_history.pickle.gz, ", "Quit")
    t.press("3")
    t.wait_for("growth: from a quarter", "s1_loss_history.py:8 in <module>", "17.6 GiB")
    t.press("4")
    t.wait_for("by line  at 0 s", "7.48 s", "everything else")
    for columns, rows in ((80, 24), (110, 35)):
        t.tmux("resize-window", "-x", str(columns), "-y", str(rows))
        lines = wait_until(lambda: whole_screen(t, columns, rows), f"a screen of {columns} x {rows}")
        tap.true("everything else" in "\n".join(lines), "the timeline is still there")
    t.press("q")
    wait_until(lambda: Path(folder, "inner-ended").exists(), "the program ends")
    tap.equal(wait_until(lambda: Path(folder, "inner-ended").read_text().strip(), "its exit code"), "ended 0")
    t.wait_for("after the program")
    check_restored(t)
    tap.true("Timeline" not in t.screen(), "nothing that was drawn is left")


def whole_screen(t, columns, rows):
    """The rows once the chart reaches the right edge and the keys are in the last row of this size."""
    lines = t.screen().rstrip("\n").split("\n")
    is_there = len(lines) == rows and "Quit" in lines[-1] and lines[0].startswith("1Overview")
    return lines if is_there and any(len(line) == columns and line.endswith("7.48 s") for line in lines) else None


def add_screen_test(name, setting):
    @tap.test(f"GNU screen, {name}: tabs, another size, the end; the terminal is restored")
    def _(folder):
        need("screen", "tmux")
        config = Path(folder, "screenrc")
        config.write_text(f"startup_message off\n{setting}\n")
        sockets = Path(folder, "sockets")
        sockets.mkdir(mode=0o700)
        command = f"screen -U -c {config} -S test sh {write_inner(folder)}"
        environment = f"SCREENDIR={sockets}"
        with Terminal(folder, command, environment=environment) as t:
            try:
                walk_and_quit(t, folder)
            finally:
                tap.run(["screen", "-S", "test", "-X", "quit"], env={**os.environ, "SCREENDIR": str(sockets)})


add_screen_test("as it is set up by default", "")
add_screen_test("with an alternate screen", "altscreen on")


@tap.test("GNU screen: detached and attached again the program goes on; it ends when screen is ended")
def _(folder):
    need("screen", "tmux")
    config, sockets = Path(folder, "screenrc"), Path(folder, "sockets")
    config.write_text("startup_message off\n")
    sockets.mkdir(mode=0o700)
    environment = {**os.environ, "SCREENDIR": str(sockets), "LC_ALL": "C.UTF-8"}
    inner = write_inner(folder)
    first, second = Path(folder, "first"), Path(folder, "second")
    first.mkdir(), second.mkdir()
    try:
        with Terminal(str(first), f"screen -U -c {config} -S test sh {inner}", environment=f"SCREENDIR={sockets}") as t:
            t.wait_for("s1_loss_history.pickle.gz, ", "Quit")
        pid = program_of(folder)  # its terminal is gone, and screen has detached
        with Terminal(str(second), "screen -U -d -r test", size=(90, 28), environment=f"SCREENDIR={sockets}") as t:
            t.wait_for("s1_loss_history.pickle.gz, ", "Quit")
            t.press("3")
            t.wait_for("17.6 GiB", "growth: from a quarter")
            tap.equal(program_of(folder), pid, "the same process")
            tap.run(["screen", "-S", "test", "-X", "quit"], env=environment)
            wait_until(lambda: not is_running(pid), "the program ends with its terminal")
    finally:
        tap.run(["screen", "-S", "test", "-X", "quit"], env=environment)


class Mosh:
    """A server of our own on the loopback interface, without ssh: the client gets port and key from it."""

    def __init__(self, folder):
        self.folder = folder
        done = tap.run(["mosh-server", "new", "-i", "127.0.0.1", "-p", "60001:60999", "-c", "256", "--", "sh", write_inner(folder)],
                       env={**os.environ, "LC_ALL": "C.UTF-8", "MOSH_SERVER_NETWORK_TMOUT": "600"}, stdin=tap.subprocess.DEVNULL)
        found = re.search(r"MOSH CONNECT (\d+) (\S+)", done.stdout)
        if not found:
            tap.skip(f"mosh-server does not start here: {(done.stdout + done.stderr).strip()[:200]}")
        self.port, self.key = found.groups()
        self.pid = int(re.search(r"pid = (\d+)", done.stdout + done.stderr).group(1))

    def client(self):
        return Terminal(self.folder, f"mosh-client 127.0.0.1 {self.port}", environment=f"MOSH_KEY={self.key}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if is_running(self.pid):
            os.kill(self.pid, signal.SIGTERM)


@tap.test("mosh: tabs, another size, the end; the terminal is restored")
def _(folder):
    need("mosh-server", "mosh-client", "tmux")
    with Mosh(folder) as mosh, mosh.client() as t:
        walk_and_quit(t, folder)


@tap.test("mosh: when the server is killed, the program ends")
def _(folder):
    need("mosh-server", "mosh-client", "tmux")
    with Mosh(folder) as mosh, mosh.client() as t:
        t.wait_for("s1_loss_history.pickle.gz, ", "Quit")
        pid = wait_until(lambda: program_of(folder), "the program runs")
        os.kill(mosh.pid, signal.SIGKILL)
        wait_until(lambda: not is_running(pid), "the program ends with its terminal")


@tap.test("a lost connection ends the program, also where hangups are ignored (nohup)")
def _():
    for ignores_hangup in (False, True):
        line = Line(STORMLOG, "tui", str(SNAPSHOT), ignores_hangup=ignores_hangup)
        line.wait_for(b"Quit")
        line.hang_up()
        tap.true(line.wait_for_end() in (-signal.SIGHUP, 0), "ends by itself or by the hangup")


@tap.test("a lost connection ends the program while it reads an input")
def _(folder):
    line = Line(STORMLOG, "tui", SlowInput(folder, SNAPSHOT).path)
    line.wait_for(b"reading")
    line.hang_up()
    tap.true(line.wait_for_end() in (-signal.SIGHUP, 0), "ends by itself or by the hangup")


@tap.test("a lost connection ends the command that was started from the screen")
def _(folder):
    tap.skip_if_sanitized(STORMLOG)
    started = Path(folder, "started")
    line = Line(STORMLOG, "tui", folder=folder)
    line.wait_for(b"Quit")
    line.write(b"x")
    line.wait_for(b"run under the recorder")
    line.write(b"sh -c 'echo $$ > begun; mv begun started; exec sleep 1000'\r")
    wait_until(started.exists, "the command runs")
    child = int(started.read_text())
    line.hang_up()
    line.wait_for_end()
    wait_until(lambda: not is_running(child), "the command ends, too")


tap.main()
