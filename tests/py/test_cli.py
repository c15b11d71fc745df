# SPDX-License-Identifier: MIT
"""The commands called from Python: they return, and print to the streams of the calling program."""

import argparse
import contextlib
import io
import os
import signal
import subprocess
import sys
import time

import stormlog.cli
import stormlog.tensorflow.cli
import tap

LEAKY = os.path.join(os.environ["STORMLOG_TEST_DATA"], "peer", "leaky", "events.json")


def captured(call):
    """What the call returns or exits with, and what it printed into this program's own streams."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = call()
        except SystemExit as error:
            code = ("exit", error.code)
    return code, out.getvalue(), err.getvalue()


@tap.test("main() returns, and prints to the streams of the calling program")
def _(folder):
    code, out, _ = captured(lambda: stormlog.cli.main(["analyze", LEAKY]))
    tap.equal(code, 0, "exit code")
    tap.contains(out, "Verdict: leak")
    code, _, err = captured(lambda: stormlog.cli.stormlog_main(["analyze", os.path.join(folder, "nothing")]))
    tap.equal(code, 3, "exit code")
    tap.contains(err, "cannot read")


@tap.test("main() without arguments uses those of the process; a failure raises SystemExit")
def _(folder):
    before = sys.argv
    try:
        sys.argv = ["gpumemprof", "analyze", os.path.join(folder, "nothing.json")]
        code, out, _ = captured(stormlog.cli.main)
        tap.equal(code, ("exit", 1), "exit code")
        tap.contains(out, "Error: Input file")
        sys.argv = ["tfmemprof", "--help"]
        code, out, _ = captured(stormlog.tensorflow.cli.main)
        tap.equal(code, 0, "exit code")
        tap.contains(out, "usage: tfmemprof")
    finally:
        sys.argv = before


@tap.test("cmd_analyze takes the parsed arguments of the Python tool")
def _(folder):
    out_file = os.path.join(folder, "report.json")
    code, out, _ = captured(lambda: stormlog.cli.cmd_analyze(argparse.Namespace(
        input_file=LEAKY, output=out_file, format="json", visualization=False, plot_dir=folder)))
    tap.equal((code, os.path.exists(out_file)), (0, True), "exit code, report")
    tap.contains(out, "Analyzing profiling results from:")


@tap.test("after Ctrl+C the command ends cleanly, and main() returns")
def _(folder):
    code = f"""
import os, stormlog.cli
os.chdir({folder!r})
print("returned", stormlog.cli.main(["track", "--interval", "0.05", "--output", "events.csv"]), flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    lines = []
    while not any("Duration" in line for line in lines[-1:]):
        lines.append(process.stdout.readline())
        if not lines[-1]:
            break
    time.sleep(0.5)  # a file with some samples; more only makes it longer
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    tap.contains(out, "returned 0", "".join(lines) + err)
    tap.true("Traceback" not in err, err)


tap.main()
