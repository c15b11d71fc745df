# SPDX-License-Identifier: MIT
"""A small test library for Python tests; prints TAP for tools/run_tests.py.

    import tap

    @tap.test("an empty file is refused")
    def _():
        result = tap.run([stormlog, "fsck", path])
        tap.equal(result.returncode, 3, "exit code")
        tap.contains(result.stderr, "empty")

    tap.main()

Arguments of the program are parts of test names; without any, all tests run. By hand:
PYTHONPATH=tests/lib /usr/bin/python3 tests/.../test_x.py
"""

import difflib
import functools
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

_tests = []


class Skip(Exception):
    """Raised through skip()."""


def test(name):
    """Registers the decorated function. It may take one parameter: a temporary folder of its own."""

    def register(function):
        _tests.append((name, function))
        return function

    return register


def skip(reason):
    raise Skip(reason)


@functools.cache
def sanitizer_of(program):
    """"asan" or "tsan" when the program was built with it, else ""."""
    with open(program, "rb") as file:
        content = file.read()
    return next((name for name in ("asan", "tsan") if f"__{name}_init".encode() in content), "")


def skip_if_sanitized(program):
    """A sanitizer must be the first library in a process; plain programs, and Debian's Python, are not built with it."""
    if name := sanitizer_of(program):
        skip(f"a library built with {name} cannot be loaded into a plain program")


def _lacks():
    return os.environ.get("STORMLOG_TEST_LACKS", "").split()


def needs(name):
    """Skips in a build that was configured without gzip, xz or zstd."""
    if name in _lacks():
        skip(f"this build has no {name} library")


def _skip_if_lacking(output):
    """The data of the tests is compressed: such a build cannot read it, and says so."""
    text = output.decode(errors="replace") if isinstance(output, bytes) else output or ""
    for name in _lacks():
        if f"this build has no {name} library" in text:
            needs(name)


def run(command, **options):
    """subprocess.run with text output captured; the default limit is 180 s, so that a busy machine is not taken for a hang."""
    try:
        result = subprocess.run(command, **{"capture_output": True, "text": True, "timeout": 180, **options})
    except subprocess.CalledProcessError as error:
        _skip_if_lacking(error.stderr)
        raise
    _skip_if_lacking(result.stderr)
    return result


def python_with(module):
    """An interpreter with the module: Debian's, else the first on PATH (such as a virtual environment). Skips without one."""
    for python in ("/usr/bin/python3", shutil.which("python3")):
        probe = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
        if python and os.path.exists(python) and run([python, "-c", probe]).returncode == 0:
            return python
    skip(f"no Python here has {module}")


def equal(found, expected, what="value"):
    if found == expected:
        return
    if isinstance(found, str) and isinstance(expected, str) and "\n" in found + expected:
        raise AssertionError(f"{what} differs:\n{text_diff(expected, found)}")
    raise AssertionError(f"{what}\nexpected {expected!r}\nfound    {found!r}")


def contains(text, part, what="text"):
    if part not in text:
        raise AssertionError(f"{what}\nexpected to contain {part!r}\nfound {text!r}")


def true(condition, what):
    if not condition:
        raise AssertionError(f"expected: {what}")


def text_diff(expected, found):
    lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), "expected", "found", lineterm="")
    return "\n".join(lines)


def _call(function):
    if not inspect.signature(function).parameters:
        function()
        return
    with tempfile.TemporaryDirectory(prefix="stormlog-test-") as folder:
        function(folder)


def _place(error):
    """The line of the test that failed: the innermost one outside this file."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    return f"at {frames[-1].filename}:{frames[-1].lineno}"


def _comment(text):
    for line in text.splitlines():
        print(f"# {line}")


def main():
    wanted = sys.argv[1:]
    chosen = [(name, function) for name, function in _tests if not wanted or any(part in name for part in wanted)]
    print(f"1..{len(chosen)}" if chosen else "1..0 # SKIP there is no such test yet")
    failed_cnt = 0
    for number, (name, function) in enumerate(chosen, 1):
        try:
            _call(function)
            print(f"ok {number} - {name}", flush=True)
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        except AssertionError as error:
            failed_cnt += 1
            print(f"not ok {number} - {name}")
            _comment(f"{error}\n{_place(error)}")
        except Exception:  # a test that breaks is a failed test; the others still run
            failed_cnt += 1
            print(f"not ok {number} - {name}")
            _comment(traceback.format_exc())
    sys.exit(1 if failed_cnt else 0)
