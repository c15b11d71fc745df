# SPDX-License-Identifier: MIT
"""Everything still builds, without a warning, on a machine that has gcc, meson and ninja and no library but libc.

Argument: the build folder; the minimal build is kept inside it, so that the next run compiles only what changed.
"""

import os
import pty
import sys
from pathlib import Path

import tap

ROOT = Path(__file__).resolve().parents[2]
minimal = Path(sys.argv[1]) / "minimal"
del sys.argv[1:]


def run_build_step(*command):
    done = tap.run(command, timeout=800)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


@tap.test("the build can be configured without optional libraries")
def _():
    if not (minimal / "build.ninja").exists():
        run_build_step("meson", "setup", minimal, ROOT, "-Dauto_features=disabled")
    config = (minimal / "src" / "sl_config.h").read_text()
    enabled = [line for line in config.splitlines() if line.startswith("#define HAVE_") and line.endswith(" 1")]
    tap.equal(enabled, [], "optional libraries in use")


@tap.test("the code compiles without a warning")
def _():
    run_build_step("ninja", "-C", minimal, "products")


@tap.test("the program that was built runs")
def _():
    program = minimal / "stormlog"
    if not os.path.exists(program):
        tap.skip("there is no program yet")
    tap.equal(tap.run([program, "info"]).returncode, 0, "exit code of 'stormlog info'")


def at_terminal(*command):
    """Exit code and output of a program all of whose streams are a terminal."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    shown = b""
    try:
        while part := os.read(fd, 65536):
            shown += part
    except OSError:
        pass  # the end of the terminal
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


@tap.test("without ncursesw the full-screen program says in one line what to use instead")
def _():
    for arguments in ([], ["tui"], ["tui", "run.slog"]):
        code, shown = at_terminal(str(minimal / "stormlog"), *arguments)
        tap.equal(code, 4, f"exit code of stormlog {arguments}")
        tap.equal(len(shown.splitlines()), 1, shown)
        tap.contains(shown, "use 'stormlog analyze PATH', 'stormlog top'")


tap.main()
