#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden tests of the command line: every folder tests/golden/<command>/<case>/ is one test.

  cmd            one shell line, run by bash in an empty temporary folder. $STORMLOG is the program, $DATA is tests/data,
                 $CASE the case's own folder (for inputs that belong to it alone)
  stdout.exact   what must be printed, byte for byte; or
  stdout.glob    the same with "..." standing for any text within a line, and a line of only "..." for any lines
  stderr.exact, stderr.glob   likewise; a stream without a file must stay empty
  exit           the expected exit code; 0 when the file is missing

With --update the .exact files and exit are written anew from what the program does now, and .glob files that no longer
match are named. Other arguments are parts of case names.
"""

import argparse
import functools
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import tap  # noqa: E402

STREAMS = ("stdout", "stderr")
TIMEOUT_S = 60


def find_cases(names):
    for cmd in sorted(HERE.glob("*/*/cmd")):
        name = str(cmd.parent.relative_to(HERE))
        if not names or any(part in name for part in names):
            yield name, cmd.parent


def run_case(folder, stormlog):
    """Returns (exit code, {stream: text})."""
    env = {
        **os.environ,
        "STORMLOG": stormlog,
        "DATA": str(HERE.parent / "data"),
        "CASE": str(folder),
        # What a terminal or a country would change must not change a golden file.
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "80",
        "STORMLOG_SETTINGS": "0",
        "NO_COLOR": "1",
    }
    with tempfile.TemporaryDirectory(prefix="stormlog-golden-") as work:
        done = subprocess.run(
            ["bash", "-c", (folder / "cmd").read_text()], cwd=work, env=env,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S)
    return done.returncode, {name: getattr(done, name).decode("utf-8", "backslashreplace") for name in STREAMS}


def glob_to_regex(text):
    pattern = ""
    for line in text.splitlines(keepends=True):
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += r"[^\n]*?".join(re.escape(part) for part in line.split("..."))
    return re.compile(pattern)


def expected_exit(folder):
    file = folder / "exit"
    return int(file.read_text()) if file.exists() else 0


def check_stream(folder, stream, text):
    exact, glob = folder / f"{stream}.exact", folder / f"{stream}.glob"
    if glob.exists():
        if not glob_to_regex(glob.read_text()).fullmatch(text):
            raise AssertionError(f"{stream} does not match {glob.name}:\n{tap.text_diff(glob.read_text(), text)}")
        return
    tap.equal(text, exact.read_text() if exact.exists() else "", stream)


def check_case(folder, stormlog):
    code, texts = run_case(folder, stormlog)
    problems = []
    for check in (
        lambda: tap.equal(code, expected_exit(folder), "exit code"),
        lambda: check_stream(folder, "stdout", texts["stdout"]),
        lambda: check_stream(folder, "stderr", texts["stderr"]),
    ):
        try:
            check()
        except AssertionError as error:
            problems.append(str(error))
    if problems:
        raise AssertionError("\n".join(problems))


def update_case(name, folder, stormlog):
    """Returns 1 when a person has to look at this case, because its .glob is written by hand."""
    code, texts = run_case(folder, stormlog)
    for stream in STREAMS:
        if (folder / f"{stream}.glob").exists():
            continue
        write_or_remove(folder / f"{stream}.exact", texts[stream])
    write_or_remove(folder / "exit", f"{code}\n" if code else "")
    try:
        check_case(folder, stormlog)
    except AssertionError as error:
        print(f"golden: {name} needs a person:\n{error}", file=sys.stderr)
        return 1
    return 0


def write_or_remove(file, text):
    if text:
        file.write_text(text)
    else:
        file.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description="golden tests of the command line")
    parser.add_argument("--stormlog", required=True, help="the program")
    parser.add_argument("--update", action="store_true", help="write the .exact files anew")
    parser.add_argument("names", nargs="*", help="parts of case names")
    args = parser.parse_args()
    stormlog = os.path.abspath(args.stormlog)

    if args.update:
        return 1 if sum(update_case(name, folder, stormlog) for name, folder in find_cases(args.names)) else 0
    for name, folder in find_cases(args.names):
        tap.test(name)(functools.partial(check_case, folder, stormlog))
    sys.argv[1:] = []
    tap.main()


if __name__ == "__main__":
    sys.exit(main())
