# SPDX-License-Identifier: MIT
"""The runner as a whole, on programs that misbehave: what it prints last, what it exits with, what it leaves running.

A script that stands in for meson hands out the list of tests.
"""

import json
import os
import stat
import sys
import time
from pathlib import Path

import tap

RUNNER = Path(__file__).resolve().parents[2] / "tools" / "run_tests.py"


def shell(script):
    return ["sh", "-c", script]


def entry(name, command, suite="unit", protocol="tap", timeout=20):
    return {"name": name, "cmd": command, "suite": [f"stormlog:{suite}"], "protocol": protocol, "timeout": timeout,
            "env": {}, "workdir": None, "is_parallel": True}


def run(folder, entries, *arguments):
    listing = Path(folder) / "tests.json"
    listing.write_text(json.dumps(entries))
    fake = Path(folder) / "meson"
    fake.write_text(f"#!/bin/sh\ncat '{listing}'\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    return tap.run([sys.executable, str(RUNNER), folder, *arguments], env=env)


def last_line(result):
    return result.stdout.splitlines()[-1]


@tap.test("when all tests pass, the last line has the counts and the exit code is 0")
def _(folder):
    result = run(folder, [entry("a", shell("echo 1..1; echo ok 1 - x")), entry("b", shell("exit 0"), protocol="exitcode")])
    tap.equal(last_line(result), "2 passed, 0 failed, 0 skipped", "last line")
    tap.equal(result.returncode, 0, "exit code")


@tap.test("a crash, a hang, and an exit code other than 0 without a failed test are failures, with exit code 1")
def _(folder):
    result = run(folder, [
        entry("crash", shell("echo 1..2; echo ok 1 - x; kill -SEGV $$")),
        entry("hang", shell("echo 1..1; sleep 60"), timeout=1),
        entry("lie", shell("echo 1..1; echo ok 1 - x; exit 3")),
    ])
    tap.equal(last_line(result), "2 passed, 3 failed, 0 skipped", "last line")
    tap.equal(result.returncode, 1, "exit code")
    for part in ("died of SIGSEGV", "timed out after 1 s", "exit code 3 although no test failed"):
        tap.contains(result.stdout, part, "output")


@tap.test("the output of a failed program is shown, that of a passing one is not")
def _(folder):
    result = run(folder, [
        entry("bad", shell("echo 'why it failed' >&2; echo 1..1; echo not ok 1 - x; exit 1")),
        entry("good", shell("echo 'chatter'; echo 1..1; echo ok 1 - x")),
    ])
    tap.contains(result.stdout, "why it failed", "output")
    tap.true("chatter" not in result.stdout, "no output of the good program")


@tap.test("skips are listed with their reasons")
def _(folder):
    result = run(folder, [entry("gpu", shell("echo 'no device here'; exit 77"), protocol="exitcode")])
    tap.contains(result.stdout, "unit/gpu: no device here", "output")
    tap.equal(last_line(result), "0 passed, 0 failed, 1 skipped", "last line")


@tap.test("tests are selected by name and suite; a name that matches nothing is an error")
def _(folder):
    entries = [entry("a", shell("echo 1..1; echo ok 1 - x")), entry("b", shell("echo 1..1; echo ok 1 - x"), suite="soak")]
    tap.equal(last_line(run(folder, entries, "--exclude-suite", "soak")), "1 passed, 0 failed, 0 skipped", "last line")
    tap.equal(run(folder, entries, "--list", "--", "soak/").stdout, "soak/b\n", "list")
    tap.equal(run(folder, entries, "--", "nothing").returncode, 2, "exit code")


@tap.test("a program that does not exist is a failure")
def _(folder):
    result = run(folder, [entry("gone", ["/nonexistent/program"])])
    tap.contains(result.stdout, "cannot start", "output")
    tap.equal(result.returncode, 1, "exit code")


@tap.test("processes that a test leaves running are killed")
def _(folder):
    pid_file = Path(folder) / "pid"
    run(folder, [entry("parent", shell(f"sleep 60 & echo $! > {pid_file}; echo 1..1; echo ok 1 - x"))])
    pid = int(pid_file.read_text())
    deadline = time.monotonic() + 5
    while Path(f"/proc/{pid}").exists() and not is_zombie(pid) and time.monotonic() < deadline:
        time.sleep(0.01)  # the kernel ends it; only its disappearance is awaited
    tap.true(not Path(f"/proc/{pid}").exists() or is_zombie(pid), f"process {pid} is gone")


def is_zombie(pid):
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


tap.main()
