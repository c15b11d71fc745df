# SPDX-License-Identifier: MIT
"""What the Python tests of the log share: the programs, the frozen files, and changing bytes of a recording."""

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import tap

STORMLOG, MAKE_FIXTURE, CRASH_KILL = (os.path.abspath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
ROOT = Path(__file__).resolve().parents[2]
V1 = ROOT / "tests" / "format" / "v1"
FROZEN = sorted(V1.glob("*.slog"))
V1_1 = ROOT / "tests" / "format" / "v1_1"
FROZEN_COMPACT = sorted(V1_1.glob("*.slog"))  # those of version 1.0, compacted
KINDS = ["closed", "killed", "wrapped", "live_levels"]


def stormlog(*arguments, **options):
    return tap.run([STORMLOG, *map(str, arguments)], stdin=-3, **options)


def make(kind, path):
    """A fresh recording of this kind."""
    done = subprocess.run([MAKE_FIXTURE, kind, str(path)], timeout=60)
    tap.equal(done.returncode, -signal.SIGKILL if kind == "killed" else 0, f"make_fixture {kind}")
    return path


def make_here(kind, path):
    """The same, as if written on this host: `compact` does not touch an unclosed file of another host while it is new."""
    data = bytearray(make(kind, path).read_bytes())
    data[1272:1400] = socket.gethostname().encode().ljust(128, b"\0")
    reseal(data)
    path.write_bytes(data)
    return path


def needs_zstd():
    libraries = json.loads(stormlog("info", "--format", "json").stdout)["libraries"]
    if not libraries["zstd"] or not shutil.which("zstd"):
        tap.skip("this build has no zstd, or the program zstd is not installed")


def reseal(data):
    """Updates the header's checksum after a change."""
    data[16:20] = bytes(4)
    data[16:20] = struct.pack("<I", zlib.crc32(data[:4096]))


def section(data, kind):
    """Offset of the row in the section table, offset and record size of the section, its place in the table."""
    count, = struct.unpack_from("<I", data, 24)
    for i in range(count):
        row = 120 + 32 * i
        found, record_bytes, offset = struct.unpack_from("<IIQ", data, row)
        if found == kind:
            return row, offset, record_bytes, i
    raise KeyError(kind)
