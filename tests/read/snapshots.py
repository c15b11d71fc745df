# SPDX-License-Identifier: MIT
"""Running trace_dump and judging its output; shared by the tests of the snapshot readers."""

import json
import os
import sys

import oracle
import tap

TRACE_DUMP = sys.argv.pop(1)


def load(path):
    """trace_dump's output as an object; a failure is an assertion with its message."""
    result = tap.run([TRACE_DUMP, path], timeout=120)
    tap.equal((result.returncode, result.stderr), (0, ""), "exit code and stderr")
    return json.loads(result.stdout)


def load_bytes(folder, data, name="snap"):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return load(path)


def check(dump, snapshot):
    """The dump equals an independent walk over the snapshot."""
    difference = oracle.difference(oracle.resolve(dump), oracle.walk(snapshot))
    tap.true(difference is None, f"what Python reads, but {difference}")


def failure_of(folder, data, name="snap"):
    """(exit code, message without the path) of a file that must be refused."""
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return failure_at(path)


def failure_at(path):
    result = tap.run([TRACE_DUMP, path])
    tap.equal(result.stdout, "", "stdout")
    tap.equal(result.stderr.count("\n"), 1, f"lines on stderr ({result.stderr!r})")
    return result.returncode, result.stderr.strip().replace(f"cannot read '{path}': ", "")
