# SPDX-License-Identifier: MIT
"""Recordings of format version 1 as they were once written, and what the program must say of them for ever: those of version
1.0, and the same in the compact form of version 1.1. To freeze them (once, when a version is born): STORMLOG_FREEZE=1."""

import json
import os
import shutil

import tap
from slog import FROZEN, FROZEN_COMPACT, KINDS, V1, make, needs_zstd, stormlog


def fsck_of(path):
    done = stormlog("fsck", path, "--format", "json")
    tap.equal(done.returncode, 0, done.stderr)
    report = json.loads(done.stdout)
    del report["path"]
    return json.dumps(report, indent=1) + "\n"


def cat_of(path):
    done = stormlog("cat", path, "--format", "json", "--stacks")
    tap.equal(done.returncode, 0, done.stderr)
    return done.stdout


if os.environ.get("STORMLOG_FREEZE"):
    for kind in KINDS:
        make(kind, V1 / f"{kind}.slog")
        (V1 / f"{kind}.fsck.json").write_text(fsck_of(V1 / f"{kind}.slog"))
        (V1 / f"{kind}.cat.json").write_text(cat_of(V1 / f"{kind}.slog"))
    FROZEN[:] = sorted(V1.glob("*.slog"))


@tap.test("every kind of recording is there")
def _():
    tap.equal([path.stem for path in FROZEN], sorted(KINDS))
    tap.equal([path.stem for path in FROZEN_COMPACT], sorted(KINDS))


def without_room(fsck):
    """The report without the room of the regions, which is all that a compact recording lacks."""
    report = json.loads(fsck)
    for region in report["regions"]:
        del region["reserved"], region["capacity"]
    return report


def check_compact(path):
    @tap.test(f"{path.name}, compact: events and fsck as of the one it was made from")
    def _():
        needs_zstd()
        tap.equal(cat_of(path), (V1 / path.name).with_suffix(".cat.json").read_text())
        tap.equal(without_room(fsck_of(path)), without_room(fsck_of(V1 / path.name)))
        tap.contains(stormlog("fsck", path).stdout, "format     1.1, ")


for compact in FROZEN_COMPACT:
    check_compact(compact)


def check(path):
    @tap.test(f"{path.name}: events")
    def _():
        tap.equal(cat_of(path), path.with_suffix(".cat.json").read_text())

    @tap.test(f"{path.name}: fsck")
    def _():
        text = path.with_suffix(".fsck.json").read_text()
        frozen, report = json.loads(text), json.loads(fsck_of(path))
        # Later versions count more kinds of mishaps; in a file that knows nothing of them there are none.
        newer = {name: report["health"].pop(name) for name in set(report["health"]) - set(frozen["health"])}
        tap.equal(json.dumps(report, indent=1) + "\n", text)
        tap.equal([name for name, cnt in newer.items() if cnt], [], "mishaps that the file cannot know")

    @tap.test(f"{path.name}: the text forms say the same")
    def _():
        lines = stormlog("cat", path).stdout.splitlines()
        tap.equal(len(lines), path.with_suffix(".cat.json").read_text().count("\n"))
        tap.contains(stormlog("fsck", path).stdout, "no damage found")


for frozen in FROZEN:
    check(frozen)


@tap.test("a reader that goes away is not an error")
def _(folder):
    path = os.path.join(folder, "run.slog")
    shutil.copy(V1 / "closed.slog", path)
    done = tap.run(["sh", "-c", f"'{stormlog.__globals__['STORMLOG']}' cat '{path}' | true"])
    tap.equal((done.returncode, done.stderr), (0, ""))


tap.main()
