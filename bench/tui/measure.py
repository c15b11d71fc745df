# SPDX-License-Identifier: MIT
"""Runs the full-screen program in a pseudo-terminal of 120 x 40 and measures it from outside.

usage: measure.py BUILD FOLDER EVENTS SECONDS
"""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import termios
import time

BUILD, FOLDER, EVENTS, SECONDS = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
STORMLOG = os.path.abspath(os.path.join(BUILD, "stormlog"))
MAKER = os.path.abspath(os.path.join(BUILD, "bench", "bench_tui"))
REPEATS = 5


class Screen:
    """A program in a terminal; everything that it sends is kept."""

    def __init__(self, *command):
        self.start = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", LC_ALL="C.UTF-8")
            os.environ.pop("NO_COLOR", None)
            os.chdir(FOLDER)
            time.sleep(0.05)  # until the size is set; the time is taken off again
            os.execv(command[0], command)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.start += 0.05
        self.sent = b""

    def read(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.fd], [], [], left)[0]:
                self.sent += os.read(self.fd, 1 << 16)
                return

    def read_for(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(end - time.monotonic())

    def wait_for(self, text, seconds=300):
        """When the text was on the screen, in seconds since the start."""
        while True:
            plain = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b" ", self.sent)
            if text in re.sub(rb" +", b" ", plain):
                return time.monotonic() - self.start
            if time.monotonic() - self.start > seconds:
                raise SystemExit(f"{text!r} did not come: {plain[-2000:]!r}")
            self.read(1)

    def press(self, keys):
        self.sent = b""
        os.write(self.fd, keys)

    def usage(self):
        """Processor seconds and resident KiB."""
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        with open(f"/proc/{self.pid}/status") as file:
            resident = int(re.search(r"VmRSS:\s*(\d+)", file.read()).group(1))
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), resident

    def watch(self, seconds):
        """Bytes per second, share of a core, resident KiB; without what is still under way."""
        self.read_for(2)
        self.sent = b""
        before, _ = self.usage()
        self.read_for(seconds)
        after, resident = self.usage()
        return len(self.sent) / seconds, (after - before) / seconds, resident

    def end(self):
        os.kill(self.pid, signal.SIGTERM)
        try:
            while os.read(self.fd, 1 << 16):
                pass
        except OSError:
            pass
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def open_once(path):
    screen = Screen(STORMLOG, "tui", path)
    times = [screen.wait_for(b"Quit"), screen.wait_for(b"process ")]
    screen.press(b"2")
    times.append(screen.wait_for(b" events"))
    screen.press(b"3")
    times.append(screen.wait_for(b"model.py:"))
    screen.press(b"1")
    times.append(screen.wait_for(b"eaks "))  # the verdict
    screen.end()
    return times


def measure_opening():
    path = os.path.join(FOLDER, "big.slog")
    events = int(subprocess.run([MAKER, "write", str(EVENTS), path], check=True, capture_output=True).stdout)
    print(f"a recording of {events:,} events, {os.path.getsize(path) / 2**20:,.0f} MiB, opened {REPEATS} times; seconds until")
    rows = [open_once(path) for _ in range(REPEATS)]
    start = time.monotonic()
    subprocess.run([STORMLOG, "analyze", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    whole = time.monotonic() - start
    names = ("the frame", "the process", "then 2: the curves", "then 3: the lines", "then 1: the verdict")
    for name, values in zip(names, zip(*rows)):
        print(f"  {name:22} {statistics.median(values):6.2f} (smallest {min(values):.2f}, largest {max(values):.2f})"
              f"   {statistics.median(values) / whole:5.1%} of stormlog analyze")
    print(f"  {'stormlog analyze':22} {whole:6.2f}")
    os.remove(path)


def open_snapshot(path, verdict):
    screen = Screen(STORMLOG, "tui", path)
    times = [screen.wait_for(b"Quit")]
    screen.press(b"3")
    times.append(screen.wait_for(b"known when all events"))
    screen.press(b"9")
    times.append(screen.wait_for(b"Report as a page"))
    screen.press(b"1")
    times.append(screen.wait_for(verdict))
    screen.end()
    return times


def measure_snapshots():
    """A snapshot lists what is live before its events: that is on the screen first, the rest when all is read."""
    here = os.path.dirname(os.path.abspath(__file__))
    ours, torchs = os.path.join(FOLDER, "ours.pickle"), os.path.join(FOLDER, "torchs.pickle")
    subprocess.run([os.path.join(os.path.dirname(MAKER), "bench_page"), str(EVENTS), ours + ".html", ours], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, os.path.join(here, "..", "snapshot", "gen.py"), str(EVENTS), torchs], check=True,
                   stdout=subprocess.DEVNULL)
    rows = {ours: [], torchs: []}
    for _ in range(REPEATS):  # alternating
        rows[ours].append(open_snapshot(ours, b"eaks "))
        rows[torchs].append(open_snapshot(torchs, b"ealthy"))
    for path, name in ((ours, "as `stormlog export` writes it"), (torchs, "as torch writes it")):
        print(f"\na snapshot of so many events, {name}, {os.path.getsize(path) / 2**20:,.0f} MiB; seconds until")
        for what, values in zip(("the frame", "then 3: what is live", "then 9: another tab", "then 1: the verdict"), zip(*rows[path])):
            print(f"  {what:22} {statistics.median(values):6.2f} (smallest {min(values):.2f}, largest {max(values):.2f})")
        os.remove(path)


def show(name, values):
    sent, share, resident = values
    print(f"  {name:34} {sent:8,.0f} bytes/s   {share:6.2%} of a core   {resident / 1024:6.1f} MiB resident")


def measure_screens():
    live = os.path.join(FOLDER, "live.slog")
    maker = subprocess.Popen([MAKER, "live", "100000", live])
    while subprocess.run([STORMLOG, "top", "--once", live], capture_output=True).returncode != 0:
        time.sleep(0.1)
    print(f"\n120 x 40, true colour, {SECONDS:g} s each, one reading per second")
    for name, keys, text in (("Live, 2,000 events/s", b"2", b" events"), ("Sites, the same", b"3", b"model.py:")):
        screen = Screen(STORMLOG, "tui", live)
        screen.wait_for(b"still running")
        screen.press(keys)
        screen.wait_for(text)
        show(name, screen.watch(SECONDS))
        screen.end()
    screen = Screen(STORMLOG, "tui")
    screen.wait_for(b"processors")
    show("Overview, nothing is open", screen.watch(SECONDS))
    screen.end()
    maker.kill()
    maker.wait()
    screen = Screen(STORMLOG, "tui", live)
    screen.wait_for(b"eaks ")
    screen.press(b"2")
    screen.wait_for(b" events")
    show("Live, a finished recording (idle)", screen.watch(SECONDS))
    screen.end()
    for name, *command in (("top -d 1", "top", "-d", "1"), ("htop -d 10", "htop", "-d", "10")):
        path = shutil.which(command[0])
        if not path:
            print(f"  {name}: not installed")
            continue
        screen = Screen(path, *command[1:])
        screen.read(5)
        show(name, screen.watch(SECONDS))
        screen.end()


measure_opening()
measure_snapshots()
measure_screens()
