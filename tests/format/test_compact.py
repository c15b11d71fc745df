# SPDX-License-Identifier: MIT
"""`stormlog compact`: whatever could be read before can be read afterwards, a file that is being written is left alone, and
whatever ends it early leaves the recording as it was."""

import fcntl
import json
import lzma
import os
import resource
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import tap
from slog import CRASH_KILL, FROZEN, KINDS, STORMLOG, V1, make_here as make, needs_zstd, reseal, section, stormlog

RING = 12
F_OFD_SETLK = 37
ZSTD_MAGIC, MAGIC = b"\x28\xb5\x2f\xfd", b"\x89SLOG\r\n\x1a"
HAS_ZSTD = json.loads(stormlog("info", "--format", "json").stdout)["libraries"]["zstd"]


def views(path):
    """What the program says about a recording, without its path and without how much room its regions have."""
    result = []
    for command in (["cat", "--format", "json", "--stacks"], ["fsck", "--format", "json"], ["analyze", "--format", "json"],
                    ["export", "--to", "timeline-csv", "-o", "-"]):
        done = stormlog(command[0], path, *command[1:], timeout=120)
        text = done.stdout
        if command[0] == "fsck":
            report = json.loads(text)
            for region in report["regions"]:
                del region["reserved"], region["capacity"]
            text = json.dumps(report, indent=1)
        result.append((done.returncode, text.replace(str(path), "PATH"), done.stderr.replace(str(path), "PATH")))
    return result


def compact(*arguments, **options):
    return stormlog("compact", *arguments, **options)


def check_both(path, what):
    """Compacts in steps, plain and then compressed, and compares what can be read."""
    before = views(path)
    tap.equal(before[0][0], 0, what + ": " + before[0][2])
    size = path.stat().st_size
    for flag, magic in ((["--no-compress"], MAGIC), ([], ZSTD_MAGIC if HAS_ZSTD else MAGIC)):
        done = compact(*flag, path)
        tap.equal((done.returncode, done.stderr), (0, ""), what)
        tap.equal(path.read_bytes()[:len(magic)], magic, what)
        tap.true(path.stat().st_size <= size, f"{what}: {path.stat().st_size} bytes, was {size}")
        for view, (was, now) in enumerate(zip(before, views(path))):
            tap.equal(now, was, f"{what} {flag}, view {view}")
    tap.equal([entry.name for entry in path.parent.iterdir()], [path.name], what)


def check_frozen(frozen):
    @tap.test(f"{frozen.name}, frozen: everything is read as before")
    def _(folder):
        path = Path(folder) / "run.slog"
        shutil.copy(frozen, path)
        check_both(path, frozen.name)


def check_fresh(kind):
    @tap.test(f"{kind}, fresh: everything is read as before")
    def _(folder):
        path = Path(folder) / "run.slog"
        check_both(make(kind, path), kind)


for frozen_path in FROZEN:
    check_frozen(frozen_path)
for kind_name in KINDS:
    check_fresh(kind_name)


@tap.test("killed writers with four threads: everything is read as before")
def _(folder):
    for seed in range(5):
        done = subprocess.run([CRASH_KILL, "--keep", "1", str(seed), folder], capture_output=True, text=True, timeout=60)
        tap.equal(done.returncode, 0, done.stdout)
        path, = Path(folder).glob("*.slog")
        check_both(path, f"seed {seed}")
        path.unlink()


@tap.test("a second time changes nothing")
def _(folder):
    path = make("closed", Path(folder) / "run.slog")
    tap.equal(compact(path).returncode, 0)
    first = path.read_bytes(), path.stat().st_ino
    done = compact(path)
    tap.equal((done.returncode, done.stderr), (0, ""))
    tap.contains(done.stdout, "already compact")
    tap.equal((path.read_bytes(), path.stat().st_ino), first)


@tap.test("permissions and time stay, and a link to the recording stays a link")
def _(folder):
    path, link = make("closed", Path(folder) / "run.slog"), Path(folder) / "link.slog"
    path.chmod(0o640)
    os.utime(path, ns=(1_600_000_000_000_000_000, 1_700_000_000_123_456_789))
    link.symlink_to("run.slog")
    tap.equal(compact(link).returncode, 0)
    tap.true(link.is_symlink(), "the link is there")
    tap.equal((path.stat().st_mode & 0o777, path.stat().st_mtime_ns), (0o640, 1_700_000_000_123_456_789))


@tap.test("zstd -d makes an ordinary file of it")
def _(folder):
    needs_zstd()
    path = make("killed", Path(folder) / "run.slog")
    before = views(path)
    tap.equal(compact(path).returncode, 0)
    plain = Path(folder) / "plain.slog"
    subprocess.run(["zstd", "-dq", path, "-o", plain], check=True)
    tap.equal(plain.read_bytes()[:8], MAGIC)
    for was, now in zip(before, views(plain)):
        tap.equal(now, was)


@tap.test(".slog.zst and .slog.xz are read by every command, sparse ones too")
def _(folder):
    path = make("closed", Path(folder) / "run.slog")
    with open(path, "r+b") as file:  # the ring of a process that was killed reaches far beyond what it used
        data = bytearray(file.read())
        struct.pack_into("<Q", data, section(data, RING)[0] + 16, (280 << 20) // section(data, RING)[2])
        struct.pack_into("<Q", data, 32, 300 << 20)
        reseal(data)
        file.seek(0)
        file.write(data)
        file.truncate(280 << 20)
    before = views(path)
    packed = Path(folder) / "run.slog.xz"
    with lzma.open(packed, "wb", preset=0) as to, open(path, "rb") as file:
        shutil.copyfileobj(file, to, 1 << 20)
    for was, now in zip(before, views(packed)):
        tap.equal(now, was, "xz")
    if HAS_ZSTD and shutil.which("zstd"):
        packed = Path(folder) / "run.slog.zst"
        subprocess.run(["zstd", "-q", path, "-o", packed], check=True)
        for was, now in zip(before, views(packed)):
            tap.equal(now, was, "zstd")
    tap.contains(compact(packed).stdout, "already compact")


@tap.test("a compressed file that is cut, damaged or a bomb is refused with one line")
def _(folder):
    good = lzma.compress((V1 / "closed.slog").read_bytes())
    cases = {"cut": (good[:-20], "the compressed data ends too early"),
             "damaged": (good[:400] + bytes(8) + good[408:], "the xz data is damaged"),
             "no recording": (lzma.compress(b"hello " * 2000), "this is not a stormlog recording"),
             "empty": (lzma.compress(b""), "found an empty file")}
    if HAS_ZSTD and shutil.which("zstd"):
        zeros = subprocess.run("head -c 3G /dev/zero | zstd -q -c", shell=True, check=True, stdout=subprocess.PIPE).stdout
        cases["zeros"] = zeros, "expands too much"
    for name, (data, expected) in cases.items():
        path = Path(folder) / "bad.slog.xz"
        path.write_bytes(data)
        for command in ("fsck", "cat"):
            done = stormlog(command, path, timeout=120)
            tap.equal((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1), f"{name}: {done.stderr}")
            tap.contains(done.stderr, expected, name)
            tap.contains(done.stderr, str(path), name)


@tap.test("a recording that is still being written is never touched")
def _(folder):
    path = make("killed", Path(folder) / "run.slog")
    done_too = make("closed", Path(folder) / "closed.slog")
    before = path.read_bytes()
    with open(path, "r+b") as file:
        fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        done = compact(path)
        tap.equal((done.returncode, done.stdout), (3, ""), done.stderr)
        tap.contains(done.stderr, "its process still writes to it")
        done = compact(folder)
        tap.equal((done.returncode, done.stderr), (0, ""))
        tap.contains(done.stdout, f"{path}: still being written, not changed")
        tap.contains(done.stdout, f"{done_too}: ")
    tap.equal(path.read_bytes(), before)
    tap.equal(compact(path).returncode, 0, "after its end")


@tap.test("a file of another host that may still be written there is left alone")
def _(folder):
    path = make("killed", Path(folder) / "run.slog")
    data = bytearray(path.read_bytes())
    data[1272:1400] = b"elsewhere".ljust(128, b"\0")
    struct.pack_into("<Q", data, 48, time.time_ns())
    reseal(data)
    path.write_bytes(data)
    done = compact(path)
    tap.equal(done.returncode, 3)
    tap.contains(done.stderr, "on host elsewhere wrote to it within the last hour and has not closed it")
    tap.equal(path.read_bytes(), bytes(data))
    struct.pack_into("<Q", data, 48, 1_700_000_000_000_000_000)
    reseal(data)
    path.write_bytes(data)
    tap.equal(compact(path).returncode, 0, "long silent")


@tap.test("a newer version is not packed, a file that is no recording neither")
def _(folder):
    path = Path(folder) / "run.slog"
    data = bytearray((V1 / "closed.slog").read_bytes())
    struct.pack_into("<HH", data, 8, 1, 9)
    reseal(data)
    for content, expected in ((bytes(data), "the file has format 1.9"), (b"text\n" * 3000, "not a stormlog recording")):
        path.write_bytes(content)
        done = compact(path)
        tap.equal(done.returncode, 3)
        tap.contains(done.stderr, expected)
        tap.equal(path.read_bytes(), content)


@tap.test("several paths: one that fails does not keep the others from it")
def _(folder):
    good, missing = make("closed", Path(folder) / "run.slog"), Path(folder) / "missing.slog"
    done = compact(missing, good)
    tap.equal(done.returncode, 3)
    tap.contains(done.stderr, str(missing))
    tap.contains(done.stdout, str(good))


def large(path):
    """A closed recording with 48 MiB that cannot be compressed, in chunks that were never used."""
    data = bytearray((V1 / "closed.slog").read_bytes())
    row, offset, chunk_bytes, index = section(data, RING)
    count = (48 << 20) // chunk_bytes
    old, = struct.unpack_from("<Q", data, 4096 + 64 + 16 * index)
    struct.pack_into("<Q", data, row + 16, count)
    struct.pack_into("<Q", data, 4096 + 64 + 16 * index, count)
    struct.pack_into("<Q", data, 32, offset + count * chunk_bytes + (16 << 20))
    reseal(data)
    noise = bytearray(os.urandom((count - old) * chunk_bytes))
    for at in range(0, len(noise), chunk_bytes):
        noise[at:at + 8] = bytes(8)
    with open(path, "wb") as file:
        file.write(data[:offset + old * chunk_bytes])
        file.write(noise)
        file.truncate(offset + count * chunk_bytes + (16 << 20))
    return path


def interrupt(folder, number):
    """Sends the signal while the new file is being written. True when the program ended by it."""
    process = subprocess.Popen([STORMLOG, "compact", folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while process.poll() is None:
        if any(entry.name.startswith("run.slog.tmp-") and entry.stat().st_size > 1 << 20 for entry in os.scandir(folder)):
            process.send_signal(number)
            break
    process.stderr.close()
    return process.wait() == -number


@tap.test("Ctrl-C and kill -9 leave the recording as it was, and nothing that looks like one")
def _(folder):
    folder = Path(folder)
    path = large(folder / "run.slog")
    before = stormlog("fsck", path, "--format", "json").stdout
    was = path.stat().st_ino, path.stat().st_size
    for number, litter_max in ((signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, 1)):
        for _attempt in range(20):
            if path.stat().st_ino != was[0]:  # it was quicker than the signal
                large(path)
                was = path.stat().st_ino, path.stat().st_size
            if interrupt(folder, number):
                break
        else:
            tap.skip("the program was always quicker than the signal")
        tap.equal((path.stat().st_ino, path.stat().st_size), was, f"signal {number}")
        litter = [entry.name for entry in folder.iterdir() if entry != path]
        tap.true(len(litter) <= litter_max, f"signal {number} left {litter}")
        tap.equal([json.loads(stormlog("fsck", folder, "--format", "json").stdout)[0]["path"]], [str(path)], "recordings")
    tap.equal(stormlog("fsck", path, "--format", "json").stdout, before)


@tap.test("a full disk leaves the recording as it was, and nothing else")
def _(folder):
    place, path = Path(folder) / "small", Path(folder) / "run.slog"
    place.mkdir()
    large(path)
    if tap.run(["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]).returncode != 0:
        tap.skip("no small file system can be mounted here")
    command = (f"mount -t tmpfs -o size=72m tmpfs {place} && cp {path} {place} && sum {place}/run.slog; '{STORMLOG}' compact {place};"
               f" echo exit $?; ls -A {place}; sum {place}/run.slog")
    done = tap.run(["unshare", "-rm", "sh", "-c", command])
    lines = done.stdout.splitlines()
    tap.equal(lines[1:3], ["exit 4", "run.slog"], done.stdout + done.stderr)
    tap.equal(lines[3], lines[0])
    tap.contains(done.stderr, "No space left on device")


@tap.test("a limit for files leaves the recording as it was, and nothing else")
def _(folder):
    path = large(Path(folder) / "run.slog")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))

    was = path.stat().st_ino, path.stat().st_size
    done = compact(path, preexec_fn=limit)
    tap.equal((done.returncode, done.stdout), (4, ""), done.stderr)
    tap.equal((path.stat().st_ino, path.stat().st_size), was)
    tap.equal(os.listdir(folder), ["run.slog"])


tap.main()
