# SPDX-License-Identifier: MIT
"""Stacks as Python itself sees them, under every interpreter of this machine. Arguments: the program, the fakes' folder."""

import glob
import json
import os
import sys

import slog_totals
import tap

stormlog, fakes = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
HERE = os.path.dirname(os.path.abspath(__file__))
VERSIONS = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"]
WHERE_TO_LOOK = ["/usr/bin/python{}", "/usr/local/bin/python{}", os.path.expanduser("~/.pyenv/versions/{}.*/bin/python3")]


def find(version):
    return next((path for pattern in WHERE_TO_LOOK for path in sorted(glob.glob(pattern.format(version)))), None)


def check(version, folder):
    python = find(version)
    if not python:
        tap.skip(f"there is no Python {version} on this machine")
    out = os.path.join(folder, "run")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STORMLOG_")}
    result = tap.run([stormlog, "run", "-o", out, "--", python, f"{HERE}/stacks_program.py", f"{fakes}/libc10_cuda.so"],
                     env={**clean, "LD_LIBRARY_PATH": fakes, "PYTHONDONTWRITEBYTECODE": "1"})
    tap.equal(result.returncode, 0, result.stderr)
    expected, found = {}, {}
    for size, frames in json.loads(result.stdout).items():
        stack = tuple(tuple(frame) for frame in frames)
        expected[stack] = expected.get(stack, 0) + int(size)
    totals = slog_totals.load_all(out)[0]
    for site in totals.sites:  # the innermost frame is report() itself; the caller's frames are the program's own list
        stack = tuple(site.stack[1:])
        found[stack] = found.get(stack, 0) + site.alloc_bytes
    tap.true(len(expected) > 15, "the program has cases")
    tap.equal([stack for stack in expected if found.get(stack) != expected[stack]][:1], [], "stacks not found")
    tap.equal([stack for stack in found if stack not in expected][:1], [], "stacks found that were not there")
    tap.equal(totals.health["stack_failure"], 0, "stacks that could not be read")


for name in VERSIONS:
    tap.test(f"Python {name}")(lambda folder, version=name: check(version, folder))

tap.main()
