#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests that meson knows in one or more build folders and ends with one line:

    N passed, N failed, N skipped

Usage: run_tests.py [options] [PREFIX=]BUILD... [-- NAME...]

PREFIX names a sanitizer build; its tests are called PREFIX:suite/name. NAME is a part of such a name; several are
alternatives. Exit status: 0 nothing failed, 1 something failed, 2 wrong use (among it: no test has that name).
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

import tap_parse
from tap_parse import FAIL, PASS, SKIP

FIRST_LINES_SHOWN = 12
OUTPUT_LINES_SHOWN = 200
SLOWEST_SHOWN = 5
# Instrumented code is 2 to 15 times slower; a test that takes 4 times its own limit still counts as a hang.
SANITIZER_TIMEOUT_FACTOR = 4

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

SANITIZER_ENV = {
    # 99 is not one of our exit codes, so no test can expect it. The value 2 stops cmocka from catching signals: its report of a
    # crash has no stack.
    "ASAN_OPTIONS": "exitcode=99:detect_leaks=1:handle_segv=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2:handle_abort=0",
    "UBSAN_OPTIONS": "exitcode=99:print_stacktrace=1",
    "TSAN_OPTIONS": f"exitcode=99:halt_on_error=1:second_deadlock_stack=1:suppressions={ROOT}/tests/tui/tsan_ncurses.supp",
}


@dataclass
class Program:
    """One test program as meson describes it."""

    title: str
    suites: list
    command: list
    env: dict
    workdir: str
    timeout_s: float
    is_tap: bool
    is_parallel: bool


@dataclass
class Outcome:
    program: Program
    seconds: float
    points: list
    output: str = field(repr=False)

    def count(self, status):
        return sum(point.status == status for point in self.points)


def load_programs(folder_spec):
    prefix, _, folder = folder_spec.rpartition("=")
    listing = subprocess.run(["meson", "introspect", "--tests", folder], check=True, capture_output=True, text=True)
    return [program_from(entry, prefix, folder) for entry in json.loads(listing.stdout)]


def program_from(entry, prefix, folder):
    suites = [suite.rpartition(":")[2] for suite in entry["suite"]]
    title = f"{suites[0]}/{entry['name']}" if suites else entry["name"]
    # The user who runs the tests may have settings of their own, which must not apply here.
    env = {"CMOCKA_MESSAGE_OUTPUT": "TAP", "MESON_BUILD_ROOT": os.path.abspath(folder), "STORMLOG_SETTINGS": "0"}
    timeout_s = entry["timeout"]
    if prefix:
        title = f"{prefix}:{title}"
        env.update(SANITIZER_ENV)
        timeout_s *= SANITIZER_TIMEOUT_FACTOR
    return Program(
        title=title,
        suites=suites,
        command=entry["cmd"],
        env={**env, **entry["env"]},
        workdir=entry["workdir"] or folder,
        timeout_s=timeout_s,
        is_tap=entry["protocol"] == "tap",
        is_parallel=entry["is_parallel"],
    )


def select(programs, args):
    def is_wanted(program):
        if args.suite and not set(args.suite) & set(program.suites):
            return False
        if set(args.exclude_suite) & set(program.suites):
            return False
        return not args.names or any(name in program.title for name in args.names)

    return [program for program in programs if is_wanted(program)]


def run_program(program):
    # Files, not pipes: a grandchild that outlives the test and holds the pipe open must not hang the runner.
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        start = time.monotonic()
        try:
            process = subprocess.Popen(
                program.command, env={**os.environ, **program.env}, cwd=program.workdir,
                stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True)
        except OSError as error:
            return Outcome(program, 0, [tap_parse.Point(f"cannot start: {error}", FAIL)], "")
        ending = wait_for(process, program.timeout_s)
        seconds = time.monotonic() - start
        out_text, err_text = read_back(stdout), read_back(stderr)
    judge = tap_parse.judge_tap if program.is_tap else tap_parse.judge_exit_code
    skip_text = out_text if out_text.strip() else err_text
    points = judge(out_text if program.is_tap and out_text.strip() else skip_text, ending)
    return Outcome(program, seconds, points, out_text + err_text)


def wait_for(process, timeout_s):
    """Waits, and ends any child processes that the test left."""
    try:
        process.wait(timeout_s)
        return tap_parse.Ending(process.returncode)
    except subprocess.TimeoutExpired:
        kill_group(process)
        process.wait()
        return tap_parse.Ending(process.returncode, timeout_s)
    finally:
        kill_group(process)


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def read_back(file):
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def run_all(programs, jobs):
    """Yields outcomes as they come. Programs that must run alone run one by one, last."""
    together = [program for program in programs if program.is_parallel]
    alone = [program for program in programs if not program.is_parallel]
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(run_program, program) for program in together]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            for future in futures:
                future.cancel()
            raise
    for program in alone:
        yield run_program(program)


def report_program(outcome):
    counts = ", ".join(
        f"{outcome.count(status)} {word}"
        for status, word in ((PASS, "passed"), (FAIL, "failed"), (SKIP, "skipped"))
        if outcome.count(status))
    mark = "FAIL" if outcome.count(FAIL) else "ok  " if outcome.count(PASS) else "skip"
    print(f"{mark}  {outcome.program.title:<44} {counts:<24} {outcome.seconds:6.2f} s", flush=True)
    report_first_lines(outcome)


def report_first_lines(outcome):
    """The beginning of each failure at once, so that nobody has to wait for the end of a long run."""
    left = 0
    for line in outcome.output.splitlines():
        left = FIRST_LINES_SHOWN if line.startswith("not ok") else left - 1 if line.startswith("#") else 0
        if left > 0:
            print(f"      {line}", flush=True)


def report_failures(outcomes):
    for outcome in outcomes:
        failed = [point for point in outcome.points if point.status == FAIL]
        if not failed:
            continue
        print(f"\n--- {outcome.program.title} ---")
        lines = outcome.output.splitlines()
        if len(lines) > OUTPUT_LINES_SHOWN:
            print(f"({len(lines) - OUTPUT_LINES_SHOWN} lines left out)")
        print("\n".join(lines[-OUTPUT_LINES_SHOWN:]))
        for point in failed:
            print(f"FAILED: {full_name(outcome, point)}{': ' + point.reason if point.reason else ''}")


def report_skips(outcomes):
    skipped = [(full_name(outcome, point), point.reason)
               for outcome in outcomes for point in outcome.points if point.status == SKIP]
    if skipped:
        print("\nskipped:")
    for name, reason in sorted(skipped):
        print(f"  {name}: {reason}")


def report_slowest(outcomes):
    slowest = sorted(outcomes, key=lambda outcome: -outcome.seconds)[:SLOWEST_SHOWN]
    print("\nslowest:")
    for outcome in slowest:
        print(f"  {outcome.seconds:6.2f} s  {outcome.program.title}")


def full_name(outcome, point):
    return f"{outcome.program.title}{': ' + point.name if point.name else ''}"


def parse_arguments(argv):
    names = []
    if "--" in argv:
        split = argv.index("--")
        argv, names = argv[:split], argv[split + 1:]
    parser = argparse.ArgumentParser(usage="run_tests.py [options] [PREFIX=]BUILD... [-- NAME...]")
    parser.add_argument("folders", nargs="+", metavar="[PREFIX=]BUILD")
    parser.add_argument("--suite", action="append", default=[], help="only this suite (repeatable)")
    parser.add_argument("--exclude-suite", action="append", default=[], help="not this suite (repeatable)")
    # One more than there are processors: for a quarter of its time a test waits.
    parser.add_argument("--jobs", "-j", type=int, default=min((os.cpu_count() or 1) + 1, 8), help="programs at a time")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    args = parser.parse_args(argv)
    args.names = names
    return args


def main(argv):
    # A shell starts background jobs with SIGINT ignored, and ignored it would stay in every test: those of Ctrl-C would fail.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    args = parse_arguments(argv)
    programs = select([program for spec in args.folders for program in load_programs(spec)], args)
    if args.list:
        print("\n".join(program.title for program in programs))
        return 0
    if not programs:
        print(f"run_tests: no test matches suite {args.suite or 'any'} and name {args.names or 'any'}", file=sys.stderr)
        return 2
    # Long tests first, so that no worker waits for one at the end. Only the time limits are known, so they serve as the
    # estimate.
    programs.sort(key=lambda program: -program.timeout_s)

    outcomes = []
    for outcome in run_all(programs, args.jobs):
        report_program(outcome)
        outcomes.append(outcome)
    outcomes.sort(key=lambda outcome: outcome.program.title)

    report_failures(outcomes)
    report_skips(outcomes)
    report_slowest(outcomes)
    passed, failed, skipped = (sum(outcome.count(status) for outcome in outcomes) for status in (PASS, FAIL, SKIP))
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
