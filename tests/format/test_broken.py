# SPDX-License-Identifier: MIT
"""Recordings that must be refused: every one with the file's name, the byte, what was expected and what was found, exit
code 3. Made from the frozen ones, so that they are broken in one place only."""

import fcntl
import json
import os
import struct
import subprocess
import time
from pathlib import Path

import tap
from slog import MAKE_FIXTURE, STORMLOG, V1, reseal, section, stormlog

CLOSED = (V1 / "closed.slog").read_bytes()
STRINGS, FRAMES, STACKS, SITES, THREADS, RING = 1, 2, 3, 4, 6, 12
BROKEN = []


def broken(name, expected):
    """Registers a function that damages a copy of the frozen recording; expected may have {at}, a byte it returns."""

    def register(function):
        BROKEN.append((name, expected, function))
        return function

    return register


@broken("an empty file", "byte 0: expected a header of 8192 bytes, found an empty file")
def _(data):
    del data[:]


@broken("a foreign file", "byte 0: expected the magic 89 53 4c 4f 47 0d 0a 1a, found 7f 45 4c 46 02 01 01 00; this is not a "
        "stormlog recording")
def _(data):
    data[:8] = b"\x7fELF\x02\x01\x01\x00"


@broken("a header that was never written", "byte 0: expected the magic 89 53 4c 4f 47 0d 0a 1a, found zeros; the writer "
        "ended before it wrote the header")
def _(data):
    data[:4096] = bytes(4096)


@broken("a future version", "byte 12: the file (format 3.7) needs a reader of format 3.0 or newer, this program reads up to 1.1; "
        "use a newer stormlog")
def _(data):
    struct.pack_into("<HHHH", data, 8, 3, 7, 3, 0)
    reseal(data)


@broken("a truncated header", "byte 5000: expected a header of 8192 bytes, found the end of the file")
def _(data):
    del data[5000:]


@broken("a flipped bit in the header", "byte 16: expected header checksum {crc:08x}, found {found:08x}; the header is damaged")
def _(data):
    found, = struct.unpack_from("<I", data, 16)
    data[2000] ^= 4
    copy = bytearray(data)
    reseal(copy)
    return {"crc": struct.unpack_from("<I", copy, 16)[0], "found": found}


@broken("more records than the file holds", "byte {at}: section {i} (ring): expected at most 11 records before the end of the file, "
        "found 1000000")
def _(data):
    row, _, _, i = section(data, RING)
    struct.pack_into("<Q", data, row + 16, 1000000)
    reseal(data)
    return {"at": row + 16, "i": i}


@broken("a section behind the end", "byte {at}: section {i} (ring): expected an offset from {low} to {high}, found 9223372036854775808")
def _(data):
    row, offset, _, i = section(data, RING)
    struct.pack_into("<Q", data, row + 8, 1 << 63)
    reseal(data)
    return {"at": row + 8, "i": i, "low": offset, "high": struct.unpack_from("<Q", data, 32)[0]}


@broken("more reserved than there is room", "byte {at}: section strings: expected at most 128 reserved records, found 4294967296")
def _(data):
    at = 4096 + 64 + 16 * section(data, STRINGS)[3]
    struct.pack_into("<Q", data, at, 1 << 32)
    return {"at": at}


@broken("more used than reserved", "byte {at}: section stacks: expected at most 32 used records, found 33")
def _(data):
    at = 4096 + 64 + 16 * section(data, STACKS)[3] + 8
    struct.pack_into("<Q", data, at, 33)
    return {"at": at}


@broken("a file that was cut", "byte {at}: expected section ring to go on to byte {end}, found the end of the file; the file was cut")
def _(data):
    end = len(data)
    del data[-1:]
    return {"at": end - 1, "end": end}


@broken("a stack that calls itself", "byte {at}: stack 2: expected a caller below 2, found 2; the stack would never end")
def _(data):
    at = section(data, STACKS)[1] + 2 * 8
    struct.pack_into("<I", data, at, 2)
    return {"at": at}


@broken("a circle of stacks", "byte {at}: stack 1: expected a caller below 1, found 3; the stack would never end")
def _(data):
    at = section(data, STACKS)[1] + 8
    struct.pack_into("<I", data, at, 3)
    return {"at": at}


@broken("a stack with a frame that is not there", "byte {at}: stack 2: expected the id of a frame below 10, found 77")
def _(data):
    at = section(data, STACKS)[1] + 2 * 8 + 4
    struct.pack_into("<I", data, at, 77)
    return {"at": at}


@broken("a frame with a string that is not there", "byte {at}: expected the id of a string below {used}, found 99999")
def _(data):
    at = section(data, FRAMES)[1] + 16 + 4
    struct.pack_into("<I", data, at, 99999)
    return {"at": at, "used": struct.unpack_from("<Q", data, 4096 + 64 + 16 * section(data, STRINGS)[3] + 8)[0]}


def first_record(data):
    """Byte of the first published record and of its chunk."""
    _, offset, _, _ = section(data, RING)
    return offset + 64, offset


@broken("an event with a stack that is not there", "byte {at}: expected the id of a stack below 10, found 3735928559")
def _(data):
    at = first_record(data)[0] + 4
    struct.pack_into("<I", data, at, 0xdeadbeef)
    return {"at": at}


@broken("a chunk with more records than it has room", "byte {at}: chunk 0: expected at most 30 records, found 31")
def _(data):
    at = first_record(data)[1]
    struct.pack_into("<Q", data, at, 1 << 16 | 31 << 1)
    return {"at": at}


@broken("a chunk of a thread that is not there", "byte {at}: chunk 0: expected a thread slot below 2, found 9")
def _(data):
    at = first_record(data)[1] + 16
    struct.pack_into("<I", data, at, 9)
    return {"at": at}


def fsck(path):
    """On a terminal that is wide enough for every message."""
    return stormlog("fsck", path, env={**os.environ, "COLUMNS": "200"})


def check(name, expected, damage):
    @tap.test(name)
    def _(folder):
        data = bytearray(CLOSED)
        text = expected.format(**(damage(data) or {}))
        path = Path(folder) / "broken.slog"
        path.write_bytes(data)
        done = stormlog("cat", path)
        tap.equal(done.stderr, f"stormlog: cannot read '{path}': {text}\n", "cat")
        tap.equal(done.returncode, 3, "cat: exit code")
        done = fsck(path)
        tap.equal(done.returncode, 3, "fsck: exit code")
        tap.contains(done.stdout + done.stderr, text)


for row in BROKEN:
    check(*row)


# Found by fsck although cat can read on.

@tap.test("fsck: totals that were changed")
def _(folder):
    data = bytearray(CLOSED)
    at = section(data, SITES)[1] + 64
    struct.pack_into("<Q", data, at + 16, 12345)
    path = Path(folder) / "totals.slog"
    path.write_bytes(data)
    done = fsck(path)
    tap.equal(done.returncode, 3)
    tap.contains(done.stdout, f"damage (L8): byte {at}: the totals of 1 site differ from the live blocks; this is the first")


@tap.test("fsck: a record without its stamp")
def _(folder):
    data = bytearray(CLOSED)
    data[first_record(data)[0] + 1] ^= 0x40
    path = Path(folder) / "stamp.slog"
    path.write_bytes(data)
    done = fsck(path)
    tap.equal(done.returncode, 3)
    tap.contains(done.stdout, "damage (L4): 1 published record lacks the chunk's stamp")
    done = stormlog("cat", path)
    tap.equal((done.returncode, done.stderr), (0, "stormlog: note: skipped 1 damaged record\n"))


@tap.test("fsck: an event that the tables do not know")
def _(folder):
    data = bytearray(CLOSED)
    at = first_record(data)[0] + 8
    struct.pack_into("<Q", data, at, 0x123456000)
    path = Path(folder) / "unknown.slog"
    path.write_bytes(data)
    done = fsck(path)
    tap.equal(done.returncode, 3)
    tap.contains(done.stdout, "damage (L10): expected the block at 0x10000 (5000 bytes) of the live table among the events")


# An event in flight, at each of its steps: totals, live blocks and events must come out the same.

def in_flight(phase):
    @tap.test(f"an alloc that was killed in step {phase}")
    def _(folder):
        data = bytearray((V1 / "killed.slog").read_bytes())
        _, threads, _, _ = section(data, THREADS)
        _, sites, _, _ = section(data, SITES)
        chunk_at, = struct.unpack_from("<Q", data, threads + 40)
        word, = struct.unpack_from("<Q", data, section(data, RING)[1] + (chunk_at - 1) * 1024)
        addr, size, site = 0x10000, 5000, 1
        # The live block of site 1 was made by the event that is now put back in flight, up to this step.
        before = dict(zip(("allocs", "bytes", "frees", "freed", "live", "peak"), struct.unpack_from("<6Q", data, sites + 64 + 8)))
        tap.equal((before["allocs"], before["bytes"], before["live"]), (1, 5000, 5000))
        if phase <= 2:
            struct.pack_into("<Q", data, sites + 64 + 8, 0)
        if phase <= 3:
            struct.pack_into("<Q", data, sites + 64 + 16, 0)
        if phase <= 4:
            struct.pack_into("<QQ", data, sites + 64 + 40, 0, 0)
        if phase <= 1:
            forget_block(data, addr)
        position = (word >> 16 << 16) | (word >> 1 & 0x7fff) - 1
        struct.pack_into("<8Q", data, threads + 64, 1, addr, size, 0, position, site, 77, phase)
        path = Path(folder) / "flight.slog"
        path.write_bytes(data)
        done = stormlog("fsck", path, "--format", "json")
        tap.equal(done.returncode, 0, done.stdout)
        for key in ('"in_flight": 1', '"replay": "equal"', '"uncertain_sites": 0', '"live_blocks": 4'):
            tap.contains(done.stdout, key)


def forget_block(data, addr):
    count, = struct.unpack_from("<I", data, 24)
    for i in range(count):
        kind, record_bytes, offset, cap = struct.unpack_from("<IIQQ", data, 120 + 32 * i)
        for bucket in range(cap if kind == 13 else 0):
            for slot in range(8):
                at = offset + bucket * record_bytes + 8 * slot
                if struct.unpack_from("<Q", data, at)[0] == addr:
                    struct.pack_into("<Q", data, at, 0)


for step in range(1, 6):
    in_flight(step)


# The writer's refusals.

def create(path, **options):
    return subprocess.run([MAKE_FIXTURE, "closed", str(path)], capture_output=True, text=True, timeout=60, **options)


@tap.test("create: a folder that is not there")
def _(folder):
    done = create(Path(folder) / "no" / "run.slog")
    tap.equal(done.returncode, 1)
    tap.contains(done.stderr, "no/run.slog': No such file or directory")


@tap.test("create: a read-only folder")
def _(folder):
    if os.geteuid() == 0:
        # Root may write anywhere that is not mounted read-only; /proc refuses everybody.
        done = create("/proc/run.slog")
        tap.equal(done.returncode, 1)
        tap.contains(done.stderr, "cannot create '/proc/run.slog'")
        return
    os.chmod(folder, 0o555)
    done = create(Path(folder) / "run.slog")
    os.chmod(folder, 0o755)
    tap.equal(done.returncode, 1)
    tap.contains(done.stderr, "Permission denied")


@tap.test("create: ulimit -f at every size is a refusal, never a signal")
def _(folder):
    if tap.sanitizer_of(MAKE_FIXTURE) == "tsan":
        tap.skip("tsan writes a file of its own, and the limit ends it")
    path = Path(folder) / "run.slog"
    for blocks in (0, 1, 4, 16, 40):
        done = tap.run(["sh", "-c", f"ulimit -f {blocks}; exec '{MAKE_FIXTURE}' closed '{path}'"])
        tap.equal(done.returncode, 1, f"{blocks} blocks: {done.stderr}")
        tap.contains(done.stderr, "(ulimit -f) is")
        tap.equal(path.exists(), False, "a file left behind")


@tap.test("create: a full disk is a refusal at start, never a signal")
def _(folder):
    if os.geteuid() != 0 or tap.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", folder]).returncode != 0:
        tap.skip("needs root and the right to mount a tmpfs")
    try:
        path = Path(folder) / "run.slog"
        done = create(path)
        tap.equal(done.returncode, 1, done.stderr)
        tap.contains(done.stderr, "No space left on device")
        tap.equal(path.exists(), False, "a file left behind")
    finally:
        tap.run(["umount", folder])


@tap.test("a disk that fills up while recording stops the growth, not the program")
def _(folder):
    if os.geteuid() != 0 or tap.run(["mount", "-t", "tmpfs", "-o", "size=30m", "tmpfs", folder]).returncode != 0:
        tap.skip("needs root and the right to mount a tmpfs")
    try:
        path = Path(folder) / "run.slog"
        done = subprocess.run([MAKE_FIXTURE, "growing", str(path)], capture_output=True, text=True, timeout=60)
        tap.equal((done.returncode, done.stderr), (0, ""))
        report = json.loads(stormlog("fsck", path, "--format", "json").stdout)
        tap.equal(report["problems"], [])
        tap.equal(report["events"] + report["overwritten"], 1500000)
        if not report["health"]["extend_failed"] or not report["overwritten"]:
            raise AssertionError(f"the disk did not fill up: {report['health']}, {report['overwritten']} overwritten")
    finally:
        tap.run(["umount", folder])


@tap.test("regions grow while they are written")
def _(folder):
    path = Path(folder) / "run.slog"
    done = subprocess.run([MAKE_FIXTURE, "growing", str(path)], capture_output=True, text=True, timeout=60)
    tap.equal((done.returncode, done.stderr), (0, ""))
    report = json.loads(stormlog("fsck", path, "--format", "json").stdout)
    tap.equal((report["problems"], report["events"], report["overwritten"]), ([], 1500000, 0))
    tap.equal(report["replay"], "equal")


def lock(file):
    """The lock of a writer: of the open file, not of the process."""
    fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))


def has_open(pid, path):
    try:
        return any(os.readlink(f"/proc/{pid}/fd/{fd}") == str(path) for fd in os.listdir(f"/proc/{pid}/fd"))
    except FileNotFoundError:
        return False


@tap.test("a recording that has just begun is read as soon as its header is there")
def _(folder):
    path = Path(folder).resolve() / "run.slog"
    with open(path, "w+b", buffering=0) as writer:
        lock(writer)
        writer.write(bytes(8192))
        reader = subprocess.Popen([STORMLOG, "fsck", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        end = time.monotonic() + 60
        while not has_open(reader.pid, path) and reader.poll() is None and time.monotonic() < end:
            time.sleep(0.001)
        writer.write(CLOSED[8192:])
        writer.seek(0)
        writer.write(CLOSED[:8192])
        output = reader.communicate(timeout=60)[0]
    tap.equal(reader.returncode, 0, output)


tap.main()
