# SPDX-License-Identifier: MIT
"""Everything still builds, without a warning, on a machine that has gcc, meson and ninja and no library but libc.

Argument: the build folder; the minimal build is kept inside it, so that the next run compiles only what changed.
"""

import os
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


tap.main()
