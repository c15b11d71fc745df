# SPDX-License-Identifier: MIT
"""The full-screen program in a real terminal: tmux sends the keys and shows the screen. The mouse: test_input.py.

Arguments: the path of stormlog. Skips aloud without tmux. Nothing waits for a time: every step waits for a text on the screen.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import tap
from line import Line
from slow_input import SlowInput
from tmux_terminal import PATIENCE_S, Terminal, check_restored

STORMLOG = os.path.abspath(sys.argv.pop(1))
DATA = Path(__file__).resolve().parent.parent / "data"
# With the sanitizer: fontconfig never frees what it has read, nor does the mouse library that ncurses loads for the Linux console.
FONTS = f"LSAN_OPTIONS=suppressions={DATA.parent}/cli/lsan_fonts.supp:print_suppressions=0"
NO_LEAKS = "ASAN_OPTIONS=exitcode=99:detect_leaks=0"

TRAIN = """
import sys, time, torch
model = torch.nn.Linear(256, 256)
optimizer = torch.optim.Adam(model.parameters())
kept = []
while True:
    model(torch.randn(64, 256)).pow(2).mean().backward()
    optimizer.step()
    kept.append(torch.zeros(25000))
    time.sleep(0.05)
"""


@tap.test("every tab shows its part of a snapshot")
def _(folder):
    with Terminal(folder, f"{STORMLOG} tui {DATA}/h200/s1_loss_history.pickle.gz") as t:
        t.wait_for("s1_loss_history.pickle.gz, ")
        t.press("2")
        t.wait_for("allocated", "27,885 events", "GiB")
        t.press("3")
        t.wait_for("growth", "s1_loss_history.py:8")
        t.press("Enter")
        t.wait_for("functional.py", "in dropout")
        t.press("/", "py:12", "Enter")
        screen = t.wait_for('with "py:12"')
        tap.true("s1_loss_history.py:8 " not in screen, "the search leaves other lines out")
        t.press("Escape")
        t.press("Home", "F")
        t.wait_for("following 17.6 GiB now, peak 17.6 GiB")
        t.press("g")
        t.wait_for("by file")
        t.press("g")
        t.wait_for("this input has no modules")
        t.press("y")
        t.wait_for("copied: /home/user/train/s1_loss_history.py:8")
        tap.contains(t.tmux("show-buffer").stdout, "s1_loss_history.py:8", "the terminal's clipboard")
        t.press("4")
        t.wait_for("by line  at ", "everything else")
        t.wait_for("1 silence shortened", "6.87 s")
        t.press("z")
        t.wait_for("3.74 s")
        t.press("p")
        t.wait_for("18.0 GiB live")
        t.press("t")
        t.wait_for("by tag")
        t.press("+")
        t.wait_for("5.61 s")
        t.press("<")
        t.wait_for("2.34 s")
        t.press("0")
        t.press("5")
        t.wait_for("no ledger")
        t.press("6")
        t.wait_for("not of several ranks")
        t.press("8")
        t.wait_for("critical", "s1_loss_history.py:8")
        t.press("t", "0s-7s", "Enter")  # it starts to leak later
        t.wait_for("time: 0s-7s", "Healthy")
        t.press("Escape")
        t.wait_for("critical")
        t.press("t", "7s-1s", "Enter")
        t.wait_for("the end is before the start", "critical")
        t.press("f", "x", "Enter")
        t.wait_for("expected numbers and ranges", "critical")
        t.press("c", f"{DATA}/h200/s4_fixed.pickle.gz", "Enter")
        t.wait_for("compared with", "+17.9 GiB", "allocated, device 0", "before: Healthy", "appeared")
        t.press("v")
        t.wait_for("leaks 897 MiB per step")
        t.press("c", "C-u", "/nowhere", "Enter")
        t.wait_for("/nowhere", "leaks 897 MiB per step")
        t.press("9")
        t.wait_for("Report as a page")
        t.press("?")
        t.wait_for("Keys", "read everything again")
        t.press("x")  # any key closes it, and does nothing else
        t.press("Tab")
        t.wait_for("processors")
        t.press("q")
        tap.equal(t.wait_for_end(), "ended 0")
        check_restored(t)


@tap.test("the What-if tab computes its answer in the background")
def _(folder):
    with Terminal(folder, f"{STORMLOG} tui {DATA}/h200/s3_baseline.pickle.gz") as t:
        t.wait_for("s3_baseline.pickle.gz, ")
        t.press("7")
        t.wait_for("Enter replays")
        t.press("Enter")
        t.wait_for("expandable_segments")
        t.press("e", "max_split_size_mb=64 roundup_power2_divisions=4", "Enter")
        t.wait_for("settings: max_split_size_mb=64 roundup_power2_divisions=4   card: as recorded", "max_split_size_mb:64")
        t.press("c", "16MiB", "Enter")
        t.wait_for("card: 16MiB", "yes")
        t.press("c", "C-u", "big", "Enter")
        t.wait_for("big", "card: 16MiB")  # the reason, and the answer stays
        t.press("q")
        tap.equal(t.wait_for_end(), "ended 0")


@tap.test("a recording with a ledger, and then telemetry, can be opened; a wrong path keeps the open input")
def _(folder):
    with Terminal(folder, f"{STORMLOG} tui {DATA}/slog/nccl.slog.xz") as t:
        t.press("5")
        t.wait_for("tensors", "libnccl", "in use on the card")
        t.press("o")
        t.press(f"{DATA}/peer/oom", "Enter")
        t.press("2")
        t.wait_for("allocated", "reserved")
        t.press("o", "/nowhere", "Enter")
        t.wait_for("cannot open '/nowhere'", "allocated")  # what was open stays
        t.press("q")
        tap.equal(t.wait_for_end(), "ended 0")


@tap.test("what is live at the end of a snapshot can be looked at while its events are read")
def _(folder):
    slow = SlowInput(folder, f"{DATA}/h200/s1_loss_history.pickle.gz")
    with Terminal(folder, f"{STORMLOG} tui {slow.path}") as t:
        t.press("3")
        t.wait_for("growth: known when all events are read", "17.6 GiB", "s1_loss_history.py:8 in", "reading")
        t.press("j", "Enter")
        screen = t.wait_for("in _init_group")  # the stack of the second line
        tap.true("17.6 GiB  unknown" in screen, "growth is not known yet")
        t.press("8")
        t.wait_for_none("in _init_group")
        tap.true("eak" not in t.screen(), "no verdict yet")
        slow.wants_rest.set()
        t.wait_for("Leak: ", "confidence")
        t.press("3")
        t.wait_for("+13.1 GiB", "growth: from a quarter", "in _init_group")  # what was opened stays open
        t.press("q")
        tap.equal(t.wait_for_end(), "ended 0")


@tap.test("q ends the program at once while an input is read")
def _(folder):
    slow = SlowInput(folder, f"{DATA}/h200/s1_loss_history.pickle.gz")
    with Terminal(folder, f"{STORMLOG} tui {slow.path}") as t:
        t.press("2")
        t.wait_for("allocated 17.8 GiB", "reading")
        t.press("q")
        tap.equal(t.wait_for_end(), "ended 0")
        check_restored(t)


@tap.test("Esc stops a reading; opening another input replaces one")
def _(folder):
    for index, keys in enumerate((("Escape",), ())):
        own = os.path.join(folder, str(index))
        os.mkdir(own)
        slow = SlowInput(own, f"{DATA}/h200/s1_loss_history.pickle.gz")
        with Terminal(own, f"{STORMLOG} tui {slow.path}") as t:
            t.press("2")
            t.wait_for("allocated 17.8 GiB", "reading")
            for key in keys:
                t.press(key)
                t.wait_for("reading was stopped; r reads", "allocated 17.8 GiB")
            t.press("o", f"{DATA}/nowhere", "Enter")
            t.wait_for("cannot open", "allocated 17.8 GiB")
            t.press("o", "C-u", f"{DATA}/h200/s5_oom.pickle.gz", "Enter")
            t.wait_for("868 events", "199 ms")
            slow.wants_rest.set()  # the thread of the first one goes on and ends: the screen stays
            t.press("8")
            t.wait_for("s5_oom.py:9")
            t.press("q")
            tap.equal(t.wait_for_end(), "ended 0")
            check_restored(t)


@tap.test("an export is written, and the screen reports it")
def _(folder):
    with Terminal(folder, f"{STORMLOG} tui {DATA}/h200/s1_loss_history.pickle.gz", environment=FONTS) as t:
        t.wait_for("s1_loss_history.pickle.gz, ")
        t.press("9")
        for label, end in (("Report as a page", ".html"), ("Report as JSON", ".json"), ("Report as Markdown", ".md"),
                           ("Samples as CSV", ".csv"), ("Samples as JSON", ".telemetry.json"), ("PyTorch snapshot", ".pickle"),
                           ("Picture as PNG", ".png"), ("Picture as SVG", ".svg")):
            t.press("Enter")
            t.wait_for(f"done: {label}: wrote s1_loss_history-", "iB)")
            tap.true(any(name.endswith(end) for name in os.listdir(folder)), f"a file that ends in {end}")
            t.press("j")
        t.press("Enter")
        t.wait_for("done: Diagnose this machine: wrote", "(a folder)")
        t.press("S")
        t.wait_for("saved ")
        tap.true(any(name.startswith("stormlog-screen") and name.endswith(".svg") for name in os.listdir(folder)),
                 "the screen as a picture")
        t.press("j", "Enter")
        t.wait_for("Check the recording: exit code 3: ")
        t.press("q")
        tap.equal(t.wait_for_end(), "ended 0")


def start_training(folder):
    python = tap.python_with("torch")
    tap.skip_if_sanitized(STORMLOG)
    Path(folder, "train.py").write_text(TRAIN)
    process = subprocess.Popen([STORMLOG, "run", "--", python, "train.py"], cwd=folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "SLURM_JOB_ID": "4711"})
    return process


@tap.test("a live recording is followed, and read completely after its process was killed")
def _(folder):
    training = start_training(folder)
    try:
        end = time.monotonic() + PATIENCE_S
        while not list(Path(folder).glob("stormlog-runs/*/*.slog")) and time.monotonic() < end:
            time.sleep(0.1)
        with Terminal(folder, STORMLOG) as t:
            t.wait_for("still running", "host memory", "steps/s")
            first = t.screen()
            t.press("3")
            t.wait_for("train.py:", "since this screen was opened", "+")
            t.wait_for("kept.append(torch.zeros(25000))")
            t.press("F")
            t.wait_for("following ")
            t.press("1", "v")
            t.wait_for("slurm 4711", "(recorded)", "host")
            t.press("4")
            t.wait_for("by line  at ", "train.py")
            t.press("2")
            t.wait_for("still running")
            tap.true(t.screen() != first, "the screen goes on")
            os.killpg(training.pid, signal.SIGKILL)
            training.wait()
            t.wait_for("ended without closing its recording")
            t.press("8")
            t.wait_for("note: ")
            t.press("q")
            tap.equal(t.wait_for_end(), "ended 0")
            check_restored(t)
    finally:
        if training.poll() is None:
            os.killpg(training.pid, signal.SIGKILL)
            training.wait()


@tap.test("top is one screen of a live recording; every way out restores the terminal")
def _(folder):
    training = start_training(folder)
    try:
        end = time.monotonic() + PATIENCE_S
        while tap.run([STORMLOG, "top", "--once", f"{folder}/stormlog-runs/latest"]).returncode and time.monotonic() < end:
            time.sleep(0.1)  # the file is there before it has a header

        def show(name):
            own = os.path.join(folder, name)
            os.mkdir(own)
            t = Terminal(own, f"{STORMLOG} top --interval 100ms {folder}/stormlog-runs/latest")
            t.wait_for("still running", "host memory", "growth", "train.py:", "q quit", "largest request: train.py:")
            return t

        with show("quit") as t:
            first = t.screen()
            t.press("+", "d", "j", "k")
            t.tmux("resize-window", "-x", "1", "-y", "1")
            t.tmux("resize-window", "-x", "100", "-y", "30")
            t.wait_for("still running", "growth")
            tap.true(t.screen() != first, "the screen goes on")
            t.press("q")
            tap.equal(t.wait_for_end(), "ended 0")
            check_restored(t)
        with show("signal") as t:
            os.kill(t.pid(), signal.SIGTERM)
            tap.equal(t.wait_for_end(), f"ended {128 + signal.SIGTERM}")
            check_restored(t)
        with show("end") as t:
            os.killpg(training.pid, signal.SIGKILL)
            training.wait()
            tap.equal(t.wait_for_end(), "ended 0")
            screen = t.wait_for("icanon", "Host memory", "train.py:")  # the plain text of what is left
            tap.true("-icanon" not in screen, "the terminal is in its own mode again")
    finally:
        if training.poll() is None:
            os.killpg(training.pid, signal.SIGKILL)
            training.wait()


@tap.test("a command can be recorded and stopped from the screen")
def _(folder):
    python = tap.python_with("torch")
    tap.skip_if_sanitized(STORMLOG)
    Path(folder, "train.py").write_text(TRAIN)
    with Terminal(folder, STORMLOG) as t:
        t.wait_for("No runs are in stormlog-runs")
        t.press("x")
        t.wait_for("run under the recorder")
        t.press(f"{python} train.py", "Enter")
        t.wait_for("still running", "train.py", "events")
        t.press("X")
        t.wait_for("exit code")
        t.press("q")
        tap.equal(t.wait_for_end(), "ended 0")


@tap.test("the window can be resized many times, down to one column")
def _(folder):
    with Terminal(folder, f"{STORMLOG} tui {DATA}/h200/s1_loss_history.pickle.gz") as t:
        t.wait_for("s1_loss_history.pickle.gz, ")
        for tab in "123456789":
            t.press(tab)
            for size in ((40, 10), (1, 1), (2, 50), (200, 2), (20, 6), (300, 80), (7, 7)):
                t.tmux("resize-window", "-x", str(size[0]), "-y", str(size[1]))
        pid = t.pid()
        for _ in range(500):
            os.kill(pid, signal.SIGWINCH)
        t.tmux("resize-window", "-x", "100", "-y", "30")
        t.press("1")
        t.wait_for("processors", "s1_loss_history.pickle.gz, ")
        t.press("q")
        tap.equal(t.wait_for_end(), "ended 0")


def add_signal_test(name, expected):
    @tap.test(f"the terminal is restored on {name}")
    def _(folder):
        if name == "SIGSEGV" and tap.sanitizer_of(STORMLOG):
            tap.skip("a sanitizer has a handler of its own, and an exit code of its own")
        with Terminal(folder, f"{STORMLOG} tui {DATA}/h200/s1_loss_history.pickle.gz") as t:
            t.wait_for("s1_loss_history.pickle.gz, ")
            os.kill(t.pid(), getattr(signal, name))
            tap.equal(t.wait_for_end(), f"ended {expected}")
            check_restored(t)


for name in ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGABRT", "SIGSEGV"):
    add_signal_test(name, 128 + getattr(signal, name))


@tap.test("colours depend on the terminal, and NO_COLOR switches them off")
def _(folder):
    for index, (environment, wanted) in enumerate((("NO_COLOR=1", False), ("COLORTERM=truecolor", True))):
        own = os.path.join(folder, str(index))
        os.mkdir(own)
        with Terminal(own, STORMLOG, environment=environment) as t:
            t.wait_for("processors", "Quit")
            colored = t.tmux("capture-pane", "-p", "-e").stdout
            tap.equal(bool(re.search(r"\x1b\[[0-9;]*(38;|3[0-7]m|9[0-7]m)", colored)), wanted, f"colours with {environment}")
            t.press("q")
            t.wait_for_end()


@tap.test("the terminal is restored while the program is stopped by Ctrl-Z, and drawn again after fg")
def _(folder):
    with Terminal(folder, "bash --norc --noprofile", environment="PS1=prompt:") as t:
        t.wait_for("prompt:")
        t.press(f"{STORMLOG} tui", "Enter")
        t.wait_for("processors", "Quit")
        t.press("C-z")
        t.wait_for("Stopped")
        t.press("stty -a | grep -o '[-]*icanon'", "Enter")
        check_restored(t)
        t.press("fg", "Enter")
        t.wait_for("processors", "Quit")
        t.press("C-c")
        t.wait_for_none("Help")
        t.press("echo code $?", "Enter")
        t.wait_for("code 130")


@tap.test("terminals of several kinds; without one the message names a way out")
def _(folder):
    for index, (environment, expected) in enumerate((("TERM=linux", "ended 0"), ("TERM=screen", "ended 0"), ("TERM=vt100", "ended 0"),
                                                     ("TERM=xterm-256color LC_ALL=C", "ended 0"), ("TERM=dumb", "ended 4"))):
        own = os.path.join(folder, str(index))
        os.mkdir(own)
        with Terminal(own, f"{STORMLOG} tui {DATA}/h200/s5_oom.pickle.gz", environment=f"{environment} {NO_LEAKS}") as t:
            if expected == "ended 0":
                t.wait_for("s5_oom.pickle.gz, ", "Quit")
                t.press("2")
                screen = t.wait_for("allocated", "868 events", "199 ms")  # the curves, not only the totals that are known early
                ascii_only = "linux" in environment or "LC_ALL=C" in environment
                tap.equal(screen.isascii(), ascii_only, f"only ASCII with {environment}")
                t.press("q")
            tap.equal(t.wait_for_end(), expected, environment)
            if expected == "ended 0":
                check_restored(t)
            else:
                t.wait_for("TERM is dumb", "print text")


@tap.test("the flow of the known tool's terminal test: its footer, r, f and q")
def _(folder):
    line = Line(STORMLOG, folder=folder, environment={"COLORTERM": "truecolor", "CUDA_VISIBLE_DEVICES": ""}, size=(120, 40))
    for text in (b"Refresh Overview", b"Focus Log", b"Diagnostics", b"Quit"):  # in this order, each in one piece
        line.wait_for(text)
    for key, shown in ((b"r", b""), (b"f", b"Report as a page"), (b"q", b"")):
        line.write(key)
        line.wait_for(shown)
    tap.equal(line.wait_for_end(), 0, "ended by itself, with 0")
    line.hang_up()


@tap.test("a folder, a bundle and several files are loaded; a wrong one among them is named")
def _(folder):
    with Terminal(folder, f"{STORMLOG} tui {DATA}/peer/oom") as t:
        t.press("8")
        t.wait_for("memory of device", "confidence")
        t.press("o", f"{DATA}/peer/leaky, {DATA}/h200/s4_fixed.pickle.gz", "Enter")
        t.wait_for("2 inputs: 1 with a leak, 1 healthy")
        t.press("o", f"{DATA}/peer/leaky, /nowhere", "Enter")
        t.wait_for("cannot open '/nowhere'", "2 inputs: 1 with a leak, 1 healthy")
        t.press("r")
        t.wait_for("2 inputs: 1 with a leak, 1 healthy")
        t.press("q")
        tap.equal(t.wait_for_end(), "ended 0")


@tap.test("python -m stormlog.tui is the same program")
def _(folder):
    python = tap.python_with("torch")
    package = Path(STORMLOG).parent / "python"
    if not (package / "stormlog" / "tui").exists():
        tap.skip("the Python package was not built")
    environment = f"PYTHONPATH={package} PATH={Path(STORMLOG).parent}:$PATH"
    with Terminal(folder, f"{python} -m stormlog.tui {DATA}/h200/s5_oom.pickle.gz", environment=environment) as t:
        t.wait_for("s5_oom.pickle.gz, ", "Quit")
        t.press("2")
        tap.true(re.search(r"  \d{4} steps/s", t.wait_for("steps/s")), "thousands of steps, without an exponent")
        t.press("q")
        tap.equal(t.wait_for_end(), "ended 0")


@tap.test("without a terminal the error names what to use instead")
def _():
    result = tap.run([STORMLOG, "tui"], stdin=subprocess.DEVNULL)
    tap.equal(result.returncode, 4, "exit code")
    tap.contains(result.stderr, "needs a terminal")
    result = tap.run([STORMLOG], stdin=subprocess.DEVNULL)
    tap.equal(result.returncode, 2, "bare, exit code")
    tap.contains(result.stderr, "expected a command")


tap.main()
