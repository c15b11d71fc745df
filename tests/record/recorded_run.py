# SPDX-License-Identifier: MIT
"""What the tests of `stormlog run` share: a command recorded into a folder, and what its recordings amount to. The program is the first
argument of the test."""

import os
import re
import sys

import slog_totals
import tap
from plain_torch import PYTHON, need_torch

stormlog = os.path.abspath(sys.argv.pop(1))
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


def need_preload():
    tap.skip_if_sanitized(stormlog)


def clean_env(**more):
    env = {name: value for name, value in os.environ.items()
           if not re.match(r"STORMLOG_|LD_PRELOAD|RANK$|LOCAL_RANK$|WORLD_SIZE$|SLURM_|OMPI_|PMI", name)}
    return {**env, **more}


def record(folder, *command, options=(), check=True, **settings):
    """Runs a command under `stormlog run`; returns (result, totals of its recordings)."""
    need_torch(stormlog)
    settings.setdefault("env", clean_env())
    out = os.path.join(folder, "run")
    result = tap.run([stormlog, "run", "-o", out, *options, "--", *command], **settings)
    if check:
        tap.equal(result.returncode, 0, f"exit code; stderr was: {result.stderr}")
    return result, slog_totals.load_all(out)


def python(folder, source):
    """A command that runs this source from a file of its own."""
    path = os.path.join(folder, "program.py")
    with open(path, "w") as file:
        file.write(source)
    return [PYTHON, path]


def one(totals):
    tap.equal(len(totals), 1, "number of recordings")
    return totals[0]


def sums(totals):
    return [totals.sum(name) for name in ("alloc_cnt", "alloc_bytes", "free_cnt", "free_bytes")]


def losses(totals):
    return {name: count for name, count in totals.health.items() if count and name != "sample_failure"}
