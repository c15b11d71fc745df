# SPDX-License-Identifier: MIT
"""What comes from a terminal: the mouse in both encodings, and anything at all.

Arguments: the path of stormlog. Skips aloud without tmux. Nothing waits for a time: every step waits for a text on the screen.
"""

import os
import random
import sys
from pathlib import Path

import tap
from line import Line
from slow_input import SlowInput
from tmux_terminal import Terminal

STORMLOG = os.path.abspath(sys.argv.pop(1))
DATA = Path(__file__).resolve().parent.parent / "data"


def old_mouse(button, column, row):
    return "\x1b[M" + chr(32 + button) + chr(33 + column) + chr(33 + row)


def new_mouse(button, column, row):
    number, end = (MOUSE_PRESSED, "m") if button == MOUSE_RELEASED else (button, "M")
    return f"\x1b[<{number};{column + 1};{row + 1}{end}"


MOUSE_PRESSED, MOUSE_RELEASED, MOUSE_WHEEL_UP = 0, 3, 64
# How terminals write what the mouse does, and a TERM for which ncurses expects it.
MICE = (("TERM=screen", old_mouse), ("TERM=xterm-256color", new_mouse))


def click(terminal, mouse, column, row):
    for button in (MOUSE_PRESSED, MOUSE_RELEASED):
        terminal.tmux("send-keys", "-l", mouse(button, column, row))


def add_mouse_tests(environment, mouse):
    @tap.test(f"the mouse opens tabs and selects rows, {environment}")
    def _(folder):
        with Terminal(folder, f"{STORMLOG} tui {DATA}/h200/s1_loss_history.pickle.gz", environment=environment) as t:
            t.wait_for("s1_loss_history.pickle.gz, ")
            click(t, mouse, 20, 0)
            t.wait_for("growth: from a quarter", "s1_loss_history.py:8")
            click(t, mouse, 10, 5)
            click(t, mouse, 10, 5)  # a second click opens the stack
            t.wait_for("in _apply")
            click(t, mouse, 28, 0)
            t.wait_for("at 0 s: ")
            click(t, mouse, 50, 10)
            t.wait_for_none("at 0 s: ")
            t.tmux("send-keys", "-l", mouse(MOUSE_WHEEL_UP, 50, 10))
            t.wait_for("3.74 s")  # the wheel zooms in: the second half
            t.press("q")
            tap.equal(t.wait_for_end(), "ended 0")

    @tap.test(f"the screen goes on after a click, {environment}")
    def _(folder):
        slow = SlowInput(folder, f"{DATA}/h200/s5_oom.pickle.gz")
        with Terminal(folder, f"{STORMLOG} tui {slow.path}", environment=environment) as t:
            t.wait_for("slow.pickle", "reading")
            click(t, mouse, 28, 0)
            t.wait_for("z Silences", "reading")
            click(t, mouse, 10, 5)
            click(t, mouse, 11, 0)
            t.wait_for("w Threshold")
            slow.wants_rest.set()
            t.wait_for("868 events", "199 ms")  # without a key
            t.press("q")
            tap.equal(t.wait_for_end(), "ended 0")


for row in MICE:
    add_mouse_tests(*row)


KEYS = "abcdefghijklmnoprstuvwyzABCDEFGHIJKLMNOPRSTUVWXYZ+-<>=0?,.:;[]{}()!@#$%^&*_ '\""
NAMED_KEYS = ("\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1bOA", "\x1b[5~", "\x1b[6~", "\x1b[H", "\x1b[F", "\x1b[3~", "\x1b[Z", "\t", "\r",
              "\n", "\x7f", "\x1b", "\x15", "\x08")
BROKEN = (b"\x1b[", b"\x1b[M", b"\x1b[<", b"\x1b[<0;", b"\x1bO", b"\x1b]52;", b"\x1b[200~", b"\xff", b"\xc3", b"\xe2\x82", b"\x80\x80",
          b"\x00", "\U0001f600".encode())
BUTTONS = (0, 0, 3, 3, 64, 65, 1, 2, 32, 35, 128)
WIDTHS, HEIGHTS = (1, 2, 7, 20, 40, 80, 100, 200, 400), (1, 2, 6, 10, 24, 30, 60, 120)


def anything(choose):
    """What a cat on the keyboard, a mouse or a bad line sends; never q or Ctrl-C, which end the program, nor a path."""
    kinds = (
        lambda: choose.choice("123456789"),
        lambda: choose.choice(KEYS),
        lambda: choose.choice(NAMED_KEYS),
        lambda: choose.choice("xocft") + "".join(choose.choice("abc123.-") for _ in range(choose.randrange(1, 300))),
        lambda: old_mouse(choose.choice(BUTTONS[:-1]), choose.randrange(79), choose.randrange(48)),
        lambda: new_mouse(choose.choice(BUTTONS), choose.randrange(-1, 400), choose.randrange(-1, 150)),
        lambda: choose.choice(BROKEN),
    )
    kind, = choose.choices(kinds, weights=(20, 25, 25, 2, 10, 10, 8))
    what = kind()
    return what if isinstance(what, bytes) else what.encode()


def add_anything_test(seed, *command, term="xterm-256color"):
    @tap.test(f"anything from the terminal, then q: {' '.join(command) or 'bare'}, TERM={term}, seed {seed}")
    def _(folder):
        choose = random.Random(seed)
        # Without a PATH nothing that is typed at x can run.
        line = Line(STORMLOG, *(part.replace("DATA", str(DATA)) for part in command), folder=folder,
                    environment={"TERM": term, "PATH": "/nowhere", "ASAN_OPTIONS": "exitcode=99:detect_leaks=0"})
        line.wait_for(b"Quit")
        for _ in range(600):
            if choose.random() < 0.03:
                line.resize(choose.choice(WIDTHS), choose.choice(HEIGHTS))
            line.write(anything(choose))
            tap.true(line.take(0), f"goes on after {line.sent[-1000:]!r}")
        line.resize(100, 30)
        for _ in range(100):  # out of half a sequence, a question, a help screen
            if not line.take(0.2):
                break
            try:
                line.write(b"\x1b")
                line.take(0.2)
                line.write(b"q")
            except OSError:
                break  # it has ended
        tap.equal(line.wait_for_end(), 0, "exit code")
        line.hang_up()


add_anything_test(1)
add_anything_test(2, "tui", "DATA/h200/s1_loss_history.pickle.gz", term="screen")
add_anything_test(3, "tui", "DATA/slog/nccl.slog.xz", term="linux")
add_anything_test(4, "tui", "DATA/peer/leaky", "DATA/h200/s4_fixed.pickle.gz", term="vt100")
tap.main()
