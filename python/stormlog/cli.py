# SPDX-License-Identifier: MIT
"""The commands are one C program; these functions run it under the right name.

``main()`` returns, so that programs and notebooks can call it; the console scripts are replaced by the program (exec) instead.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional, TextIO

from ._files import find_program


def _command(name: str) -> str:
    """The path of the program, which does what its name says: argv[0] must be the name."""
    program = find_program()
    if program is None:
        sys.stderr.write(f"{name}: the C program was found neither beside the package nor on PATH; "
                         "build it with `make`, or install the package\n")
        raise SystemExit(4)
    return str(program)


def _is_real(stream: Any, number: int) -> bool:
    """Whether the stream is the process's own: a notebook or a test replaces it with one that a child process cannot write
    to."""
    try:
        return stream.fileno() == number
    except (AttributeError, OSError, ValueError):
        return False


def _copy(source: TextIO, target: TextIO) -> None:
    for line in source:
        target.write(line)


def run(name: str, arguments: List[str]) -> int:
    """Runs the program and returns its exit code. Ctrl+C goes to the program: it exits cleanly, and so does this call."""
    is_real = _is_real(sys.stdout, 1) and _is_real(sys.stderr, 2)
    pipe = None if is_real else subprocess.PIPE
    sys.stdout.flush()
    process = subprocess.Popen([name, *arguments], executable=_command(name), stdout=pipe, stderr=pipe, text=True,
                               env=_environment())
    with process, _interrupts_ignored():
        if not is_real:
            errors = threading.Thread(target=_copy, args=(process.stderr, sys.stderr))
            errors.start()
            _copy(process.stdout, sys.stdout)  # type: ignore[arg-type]
            errors.join()
        return process.wait()


def _environment() -> Dict[str, str]:
    """Commands that describe the machine ask this interpreter, not the first one on PATH."""
    return {"STORMLOG_PYTHON": sys.executable or "", **os.environ}


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Only the main thread may change this, and only it needs to: Python handles signals there."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def replace(name: str, *command: str) -> None:
    """Replaces this process with the program (exec), with this command before the arguments: signals and exit code need no
    forwarding."""
    program = _command(name)
    sys.stdout.flush()
    os.execve(program, [name, *command, *sys.argv[1:]], _environment())


def run_or_exit(name: str, argv: Optional[List[str]]) -> int:
    """With arguments: returns the exit code. Without: uses those of this process and raises SystemExit for a failure, as a
    program would."""
    code = run(name, sys.argv[1:] if argv is None else argv)
    if argv is None and code:
        raise SystemExit(code)
    return code


def main(argv: Optional[List[str]] = None) -> int:
    """gpumemprof."""
    return run_or_exit("gpumemprof", argv)


def stormlog_main(argv: Optional[List[str]] = None) -> int:
    """stormlog."""
    return run_or_exit("stormlog", argv)


def gpumemprof_program() -> None:
    """The console script gpumemprof."""
    replace("gpumemprof")


def stormlog_program() -> None:
    """The console script stormlog."""
    replace("stormlog")


# --- single commands, with the parsed arguments of the Python tool ---------------------------------------------------


def option_words(args: argparse.Namespace) -> List[str]:
    words = []
    for name, value in vars(args).items():
        if name in ("command", "func", "verbose") or value is None or value is False:
            continue
        if name == "input_file":
            words.insert(0, str(value))
        else:
            words += [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])
    return words


def cmd_info(args: argparse.Namespace) -> int:
    return run("gpumemprof", ["info", *option_words(args)])


def cmd_monitor(args: argparse.Namespace) -> int:
    return run("gpumemprof", ["monitor", *option_words(args)])


def cmd_track(args: argparse.Namespace) -> int:
    return run("gpumemprof", ["track", *option_words(args)])


def cmd_analyze(args: argparse.Namespace) -> int:
    return run("gpumemprof", ["analyze", *option_words(args)])


def cmd_diagnose(args: argparse.Namespace) -> int:
    return run("gpumemprof", ["diagnose", *option_words(args)])


if __name__ == "__main__":
    replace("gpumemprof")
