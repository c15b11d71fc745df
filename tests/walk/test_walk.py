# SPDX-License-Identifier: MIT
"""A newcomer's walk: types the lines of walk.txt at a terminal, one step after the other, and reads the screen.

Arguments: the program, the folder of the Python packages. walk.txt says what its words mean. By hand, with every screen shown:

    WALK_SHOW=1 PYTHONPATH=tests/lib /usr/bin/python3 tests/walk/test_walk.py build/stormlog build/python
"""

import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import tap
from screen import Screen

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data"
FONTS = HERE.parent / "cli" / "lsan_fonts.supp"  # what cairo's fonts keep until the process ends
STORMLOG, PACKAGES = (Path(argument).resolve() for argument in sys.argv[1:3])
del sys.argv[1:3]
LIMIT_S = 120  # of a step on a machine that is busy with other things; nothing waits for it to pass
KEYS = {"^C": b"\x03", "^D": b"\x04", "q": b"q"}
# Text that no screen may show, unless a step expects it.
NEVER = [r"Traceback", r"Sanitizer", r"core dumped", r"\(null\)", r"%[sdzlu]",
         r"(?<![\d,.:-])1 (runs|processes|events|steps|allocations|frees|blocks|gates|findings|recordings|lines|samples|inputs"
         r"|devices|ranks|places|threads|marks|alerts|sites|files|requests|calls|bundles)\b"]


@dataclass
class Step:
    number: int
    title: str
    actions: list = field(default_factory=list)


def parse(text):
    """Steps begin with "N. Title"; below, indented, is one action per line; "> " goes on with the line above."""
    steps = []
    for row, line in enumerate(text.splitlines(), 1):
        if match := re.fullmatch(r"(\d+)\. (.+)", line):
            steps.append(Step(int(match[1]), match[2]))
        elif line.startswith("    > "):
            word, argument, at = steps[-1].actions[-1]
            steps[-1].actions[-1] = (word, f"{argument}\n{line[6:]}", at)
        elif line.startswith("    ") and steps:
            word, _, argument = line.strip().partition(" ")
            if word == "other":
                verb, _, argument = argument.strip().partition(" ")
                word = f"other {verb}"
            steps[-1].actions.append((word, argument.strip(), row))
    return steps


# --- What a step may need --------------------------------------------------------------------------------------------

class Walker:
    """The newcomer: a folder with a space in its name, a clean environment, and what was found out about this machine."""

    def __init__(self, folder):
        self.home = Path(folder) / "my project"
        shutil.copytree(HERE / "home", self.home)
        (self.home / "h200").symlink_to(DATA / "h200")
        (self.home / "cards").symlink_to(DATA / "slog")
        names = Path(folder) / "bin"
        names.mkdir()
        for python in ("/usr/bin/python3", sys.executable):
            if os.path.exists(python) and not (names / "python3").exists():
                (names / "python3").symlink_to(python)
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith(("STORMLOG", "XDG_", "PYTHON", "COLUMNS", "NO_COLOR", "MAKE"))}
        self.env.update(PATH=f"{names}:{STORMLOG.parent}:{self.env['PATH']}", HOME=str(Path(folder)), TERM="xterm-256color",
                        LC_ALL="C.UTF-8", TZ="UTC", PYTHONPATH=str(PACKAGES), PYTHONDONTWRITEBYTECODE="1",
                        OMP_NUM_THREADS="1", LSAN_OPTIONS=f"suppressions={FONTS}:print_suppressions=0")

    def ask(self, command):
        return tap.run(["bash", "-c", command], cwd=self.home, env=self.env).returncode == 0

    def need(self, what):
        reason = NEEDS[what](self)
        if reason:
            tap.skip(reason)


def needs_recorder(walker):
    tap.skip_if_sanitized(STORMLOG)


def needs_torch(walker):
    needs_recorder(walker)
    return None if walker.ask("python3 -c 'import torch'") else "this python3 has no torch"


def needs_package(walker):
    needs_recorder(walker)
    return None if walker.ask("python3 -c 'import stormlog'") else "the Python package was not built"


NEEDS = {
    "recorder": needs_recorder,
    "torch": needs_torch,
    "package": needs_package,
    "run": lambda walker: None if walker.ask("test -d stormlog-runs/latest/") else "no run was recorded",
    "root": lambda walker: None if walker.ask("unshare -m true") else "mounting needs root",
    "user": lambda walker: "root may write everywhere" if os.geteuid() == 0 else None,
    "cairo": lambda walker: None if walker.ask("stormlog info | grep -q '^cairo *yes'") else "built without cairo",
    "groff": lambda walker: None if walker.ask("command -v groff") else "groff is not installed",
    "xz": lambda walker: None if walker.ask("stormlog info | grep -q '^liblzma *yes'") else "built without liblzma",
}


# --- Walking ---------------------------------------------------------------------------------------------------------

def flat(text):
    return re.sub(r"\s+", " ", text)


def on_screen(wanted):
    """Words in their order, however the lines are broken; "..." stands for anything."""
    pattern = re.compile(".*?".join(re.escape(flat(part).strip()) for part in wanted.split("...")))
    return lambda text: pattern.search(flat(text)) is not None


class Walk:
    """Runs one step."""

    def __init__(self, walker, step):
        self.walker, self.step = walker, step
        self.columns, self.code = 80, None
        self.screens = {}
        self.wanted = [argument for word, argument, _ in step.actions if word.endswith("see")]

    def type(self, name, command):
        self.screens[name] = Screen(command, self.columns, self.walker.home, self.walker.env)

    def check(self, is_right, name, row, wanted):
        if not is_right:
            raise AssertionError(f"walk.txt:{row}: {wanted}\n--- on the screen ---\n{self.screens[name].text()}")

    def finish(self, name, row, wanted):
        code = self.screens[name].finish(LIMIT_S)
        self.check(code == int(wanted), name, row, f"exit {wanted}, found {code}")

    def press(self, name, row, argument):
        """"^C when TEXT"."""
        keys, _, when = argument.partition(" when ")
        self.check(self.screens[name].wait_for(on_screen(when), LIMIT_S), name, row, f"never showed: {when}")
        self.screens[name].press(KEYS[keys])

    def do(self, word, argument, row):
        side, _, verb = word.rpartition(" ")
        name = side or "main"
        if verb == "needs":
            for what in argument.split(", "):
                self.walker.need(what)
        elif verb == "columns":
            self.columns = int(argument)
        elif verb == "$":
            self.type(name, argument)
        elif verb == "press":
            self.press(name, row, argument)
        elif verb == "exit":
            self.finish(name, row, argument)
        elif verb == "see" and side:  # a screen that is still being written
            self.check(self.screens[name].wait_for(on_screen(argument), LIMIT_S), name, row, f"never showed: {argument}")
        elif verb == "see":
            self.check(on_screen(argument)(self.screens[name].text()), name, row, f"not on the screen: {argument}")
        elif verb == "not":
            self.check(not on_screen(argument)(self.screens[name].text()), name, row, f"on the screen: {argument}")
        else:
            raise AssertionError(f"walk.txt:{row}: there is no word '{word}'")

    def never(self):
        for name, screen in self.screens.items():
            for pattern in NEVER:
                found = re.search(pattern, screen.text())
                asked = found and any(found[0] in wanted for wanted in self.wanted)
                self.check(not found or asked, name, 0, f"no screen may show: {found and found[0]!r}")

    def go(self):
        try:
            for word, argument, row in self.step.actions:
                self.do(word, argument, row)
            self.never()
        finally:
            if os.environ.get("WALK_SHOW"):
                for name, screen in self.screens.items():
                    print(f"# --- {self.step.number} {name}\n" + re.sub("^", "# ", screen.text(), flags=re.MULTILINE))
            for screen in self.screens.values():
                screen.close()


def main():
    steps = parse((HERE / "walk.txt").read_text())
    with tempfile.TemporaryDirectory(prefix="stormlog-walk-") as folder:
        walker = Walker(folder)

        @tap.test("there are at least 40 steps, numbered from 1, and each has the exit code of its command")
        def _():
            tap.equal([step.number for step in steps], list(range(1, len(steps) + 1)), "numbers")
            tap.true(len(steps) >= 40, "40 steps or more")
            for step in steps:
                words = [word for word, _, _ in step.actions]
                tap.equal(words.count("$"), words.count("exit"), f"step {step.number}: lines typed, and exit codes")

        for step in steps:
            tap.test(f"{step.number}. {step.title}")(Walk(walker, step).go)
        tap.main()


main()
