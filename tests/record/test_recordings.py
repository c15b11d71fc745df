# SPDX-License-Identifier: MIT
"""Recordings made on an H200 (tests/data/slog), read on any machine. Argument: the program."""

import json
import lzma
import os
import sys

import tap

stormlog = os.path.abspath(sys.argv.pop(1))
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "slog")
PROGRAMS = os.path.join(DATA, "programs")
MIB = 1 << 20
COMPRESSED_MAX = 150 * 1024


def unpack(folder, name):
    """The recording, with holes where it has zeros: it says 300 MB and takes 2."""
    packed = os.path.join(DATA, name + ".slog.xz")
    if not os.path.exists(packed):
        tap.skip(f"{name}.slog.xz has not been made yet; see tests/data/slog/README.md")
    tap.true(os.path.getsize(packed) <= COMPRESSED_MAX, f"{name}.slog.xz has at most {COMPRESSED_MAX} bytes")
    path = os.path.join(folder, name + ".slog")
    with lzma.open(packed) as source, open(path, "wb") as to:
        while piece := source.read(MIB):
            if piece.strip(b"\0"):
                to.write(piece)
            else:
                to.seek(len(piece), os.SEEK_CUR)
        to.truncate()
    return path


def ask(command, path):
    result = tap.run([stormlog, command, "--format", "json", path])
    tap.equal(result.returncode, 0, f"exit code of {command}; {result.stderr}")
    return json.loads(result.stdout)


def line_of(program, part):
    with open(os.path.join(PROGRAMS, program)) as file:
        return next(i for i, line in enumerate(file, 1) if part in line)


def open_clean(folder, name):
    path = unpack(folder, name)
    report = ask("fsck", path)
    tap.equal(report["problems"], [], "damage")
    with open(path, "rb") as file:
        content = file.read()
    for place in (b"/root/", b"/tmp/"):
        tap.true(place not in content, f"no path below {place.decode()} in the recording")
    return path


def check_ledger(path):
    device = next(row for row in ask("top", path)[0]["devices"] if row["device"] == 0)
    rows = ("tensors", "cache", "libraries", "context", "other_processes", "driver", "rest")
    tap.equal(sum(device[row + "_bytes"] or 0 for row in rows), device["card_used_bytes"], f"the rows add up: {device}")
    tap.true(device["rest_bytes"] <= device["card_total_bytes"] / 100, f"rest at most 1 % of the card: {device}")
    return device


def library_bytes(device, part):
    return sum(row["bytes"] for row in device["libraries"] if part in row["name"])


@tap.test("leak, killed in the middle: the verdict and the line")
def _(folder):
    report = ask("analyze", open_clean(folder, "leak"))
    tap.equal(report["verdict"], "leak")
    leak = next(finding for finding in report["findings"] if finding["kind"] == "leak")
    found = (os.path.basename(leak["site"]["file"]), leak["site"]["line"], leak["device"])
    tap.equal(found, ("leak.py", line_of("leak.py", "outputs.append"), 0))


@tap.test("out of memory: the verdict, the request and the line")
def _(folder):
    report = ask("analyze", open_clean(folder, "oom"))
    tap.equal((report["verdict"], report["oom"]["requested_bytes"]), ("oom", 4 << 30))
    site = report["oom"]["site"]
    tap.equal((os.path.basename(site["file"]), site["line"]), ("oom.py", line_of("oom.py", "cache.append")))


@tap.test("NCCL and a second process: rows of the ledger, which add up")
def _(folder):
    device = check_ledger(open_clean(folder, "nccl"))
    tap.true(library_bytes(device, "libnccl") > 0, f"bytes of libnccl: {device['libraries']}")
    tap.true(device["other_processes_bytes"] > 1 << 30, f"the other process's gibibyte: {device}")


@tap.test("expandable segments: healthy, and read to the end")
def _(folder):
    path = open_clean(folder, "expandable")
    report = ask("analyze", path)
    tap.equal(report["verdict"], "healthy")
    device = next(row for row in report["devices"] if row["device"] == 0)
    tap.true(device["peak_requested_bytes"] > MIB, f"peak: {device['peak_requested_bytes']}")


@tap.test("JAX: its library, and the line that asked")
def _(folder):
    path = open_clean(folder, "jax")
    device = check_ledger(path)
    tap.true(library_bytes(device, "xla") >= 40 * 16 * MIB, f"40 arrays of 16 MiB: {device['libraries']}")
    ask("analyze", path)


tap.main()
