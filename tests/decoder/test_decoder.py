# SPDX-License-Identifier: MIT
"""The decoder that was written from docs/format.md alone must agree with the program: on the frozen recordings, on fresh ones
of each kind, and on recordings of a killed writer with several threads."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import slog_decode
import tap
from slog import CRASH_KILL, FROZEN, FROZEN_COMPACT, KINDS, make_here, needs_zstd, stormlog


def agree(path):
    log = slog_decode.Log(path)
    done = stormlog("cat", path, "--format", "json", "--stacks", timeout=120)
    tap.equal(done.returncode, 0, done.stderr)
    ours = [json.loads(line) for line in done.stdout.splitlines()]
    theirs = log.events()
    tap.equal(len(theirs), len(ours), "events")
    for i, (a, b) in enumerate(zip(theirs, ours)):
        tap.equal(a, b, f"event {i}")
    report = json.loads(stormlog("fsck", path, "--format", "json", timeout=120).stdout)
    summary = log.summary()
    tap.equal(summary, {key: report[key] for key in summary})


def agree_in_both_forms(path):
    agree(path)
    done = stormlog("compact", path)
    tap.equal((done.returncode, done.stderr), (0, ""))
    agree(path)


def check(path):
    @tap.test(f"{path.parent.name}/{path.name}: both decoders agree on the frozen recording")
    def _():
        if path in FROZEN_COMPACT:
            needs_zstd()
        agree(path)


def check_fresh(kind):
    @tap.test(f"{kind}: both decoders agree on a new recording, and after compacting it")
    def _(folder):
        agree_in_both_forms(make_here(kind, Path(folder) / f"{kind}.slog"))


for frozen in FROZEN + FROZEN_COMPACT:
    check(frozen)
for kind_name in KINDS:
    check_fresh(kind_name)


@tap.test("both decoders agree on five recordings of killed writers with four threads, and after compacting them")
def _(folder):
    # The crash test leaves the file of its last round when asked to keep it.
    for seed in range(5):
        done = subprocess.run([CRASH_KILL, "--keep", "1", str(seed), folder], capture_output=True, text=True, timeout=60)
        tap.equal(done.returncode, 0, done.stdout)
        paths = list(Path(folder).glob("*.slog"))
        tap.equal(len(paths), 1, "recordings kept")
        if seed == 4:  # as if it had called _exit(3)
            with open(paths[0], "r+b") as file:
                file.seek(4096 + 40)
                file.write((3 << 8 | 1).to_bytes(8, "little"))
            tap.equal(slog_decode.Log(paths[0]).ending(), "left")
        agree_in_both_forms(paths[0])
        paths[0].unlink()


tap.main()
