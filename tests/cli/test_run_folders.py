# SPDX-License-Identifier: MIT
"""Run folders with several recordings: no command takes one of them without saying so. Arguments: the program."""

import json
import lzma
import os
import shutil
import sys

import tap

STORMLOG = os.path.abspath(sys.argv.pop(1))
V1 = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "format", "v1")
NAMES = ["closed", "wrapped"]
# What the font library keeps for itself is no leak of ours.
ENV = {**os.environ, "LSAN_OPTIONS": f"suppressions={os.path.dirname(os.path.abspath(__file__))}/lsan_fonts.supp:print_suppressions=0"}


def make(folder, *names):
    """A run folder with these recordings, and a bundle that must not be taken for one."""
    path = os.path.join(folder, "run")
    os.makedirs(os.path.join(path, "closed.slog.oom-1"), exist_ok=True)
    for name in names:
        shutil.copy(os.path.join(V1, name + ".slog"), path)
    return path


def stormlog(*arguments, code=0):
    result = tap.run([STORMLOG, *arguments], env=ENV)
    tap.equal(result.returncode, code, f"exit code of {arguments}: {result.stderr}")
    return result


def refused(*arguments):
    result = stormlog(*arguments, code=2)
    tap.equal((result.stdout, len(result.stderr.splitlines())), ("", 1), f"{arguments}: one line, no output: {result.stderr}")
    return result.stderr


@tap.test("export: a file for each recording in a folder; several never become one file")
def _(folder):
    run = make(folder, *NAMES)
    for kind, extension in (("snapshot", "pickle"), ("events-json", "json"), ("perfetto", "pftrace"), ("folded", "folded")):
        out = os.path.join(folder, kind) + "/"
        result = stormlog("export", run, "--to", kind, "-o", out)
        expected = [f"{out}{name}.{extension}" for name in NAMES]
        tap.equal(result.stdout.splitlines(), expected, "paths told")
        for path, name in zip(expected, NAMES):
            stormlog("export", f"{run}/{name}.slog", "--to", kind, "-o", f"{folder}/alone")
            tap.equal(open(path, "rb").read().replace(run.encode(), b""), open(f"{folder}/alone", "rb").read().replace(run.encode(), b""),
                      f"{kind} of {name} is that of the recording alone")
    file = os.path.join(folder, "one.pickle")
    for output in ([], ["-o", file]):
        text = refused("export", run, "--to", "folded", *output)
        tap.contains(text, f"'{run}' holds 2 recordings and 'folded' one; name a folder with -o (")
    tap.equal(os.path.exists(file), False, "a file was written")


@tap.test("export: a folder with one recording needs no folder")
def _(folder):
    run = make(folder, "closed")
    alone = stormlog("export", f"{run}/closed.slog", "--to", "folded").stdout
    tap.equal(stormlog("export", run, "--to", "folded").stdout, alone, "on standard output")
    tap.true(alone != "", "something was written")


@tap.test("diff and cat name the recordings of a folder instead of choosing one")
def _(folder):
    run = make(folder, *NAMES)
    expected = f"'{run}' holds 2 recordings; name one of them: closed.slog, wrapped.slog"
    tap.contains(refused("diff", run, f"{run}/closed.slog"), expected)
    tap.contains(refused("diff", f"{run}/closed.slog", run), expected)
    tap.contains(refused("cat", run), expected)
    single = make(os.path.join(folder, "second"), "closed")
    tap.equal(stormlog("cat", single).stdout, stormlog("cat", f"{single}/closed.slog").stdout, "cat of one")
    stormlog("diff", single, f"{run}/wrapped.slog")


@tap.test("fsck checks all; the exit code is that of the worst")
def _(folder):
    run = make(folder, *NAMES)
    tap.equal(stormlog("fsck", run).stdout.count("no damage found"), 2, "reports")
    rows = json.loads(stormlog("fsck", "--format", "json", run).stdout)
    tap.equal([os.path.basename(row["path"]) for row in rows], ["closed.slog", "wrapped.slog"], "array")
    tap.equal(json.loads(stormlog("fsck", "--format", "json", f"{run}/closed.slog").stdout)["problems"], [], "a file alone")
    with open(f"{run}/closed.slog", "r+b") as file:
        file.truncate(5000)
    result = stormlog("fsck", run, code=3)
    tap.contains(result.stderr, "closed.slog")
    tap.contains(result.stdout, "no damage found", "the other one is checked all the same")


@tap.test("plot compares the recordings of a folder, and a picture of one refuses several")
def _(folder):
    run = make(folder, *NAMES)
    probe = tap.run([STORMLOG, "plot", f"{run}/closed.slog", "-o", f"{folder}/one.svg"], env=ENV)
    if probe.returncode == 4:
        tap.skip("this build draws no pictures")
    stormlog("plot", run, "-o", f"{folder}/all.svg")
    tap.true(os.path.getsize(f"{folder}/all.svg") > 1000, "a picture")
    tap.contains(refused("plot", run, "--kind", "flame", "-o", f"{folder}/x.svg"), "shows one input, found 2")


@tap.test("analyze, check and report take them all")
def _(folder):
    run = make(folder, *NAMES)
    report = json.loads(stormlog("analyze", "--format", "json", run).stdout)
    tap.equal([os.path.basename(row["path"]) for row in report["inputs"]], ["closed.slog", "wrapped.slog"], "inputs")
    stormlog("check", run, "--max-peak", "1TiB")
    stormlog("report", run, "-o", f"{folder}/page.html")


@tap.test("compressed recordings of a folder are recordings; beside the plain file they are copies")
def _(folder):
    run = make(folder, *NAMES)
    plain = json.loads(stormlog("fsck", run, "--format", "json").stdout)
    for name in NAMES:
        with open(f"{run}/{name}.slog", "rb") as file, lzma.open(f"{run}/{name}.slog.xz", "wb") as to:
            to.write(file.read())
    tap.equal(json.loads(stormlog("fsck", run, "--format", "json").stdout), plain, "beside the plain ones")
    for name in NAMES:
        os.unlink(f"{run}/{name}.slog")
    alone = json.loads(stormlog("fsck", run, "--format", "json").stdout)
    for report in plain + alone:
        report["path"] = report["path"].removesuffix(".xz")
    tap.equal(alone, plain, "alone")
    stormlog("analyze", run)


@tap.test("a folder without recordings is one line")
def _(folder):
    for command in ("analyze", "cat", "fsck", "export"):
        result = stormlog(command, folder, code=3)
        tap.contains(result.stderr, f"cannot read '{folder}': it is a folder without recordings (*.slog); name a file")


tap.main()
