# SPDX-License-Identifier: MIT
"""The exact totals of a recording, read from its bytes: sites with their stacks, out-of-memories, steps, health.

Written from stormlog/format.h for tests of the recorder, so that they do not depend on the readers they feed.
"""

import ctypes
import ctypes.util
import glob
import mmap
import os
import struct
from dataclasses import dataclass, field

SECTIONS = {1: "strings", 2: "frames", 3: "stacks", 4: "sites", 5: "labels", 6: "threads", 7: "counters", 8: "curves", 9: "marks",
            11: "ooms", 12: "ring", 13: "live"}
HEALTH = ["dropped", "skipped_chunks", "string_overflow", "frame_overflow", "stack_overflow", "site_overflow",
          "live_overflow", "label_overflow", "thread_overflow", "counter_overflow", "curve_late", "unknown_free",
          "double_alloc", "size_mismatch", "size_clamped", "bad_event", "extend_failed", "hook_failure",
          "stack_failure", "reentry", "sample_failure", "tag_limit"]
COUNTERS = {1: "allocated", 2: "reserved", 4: "device_used", 5: "device_total", 6: "process_used", 7: "driver_used", 8: "host_rss",
            9: "host_available", 10: "host_cgroup", 11: "utilization", 13: "temperature", 14: "power", 16: "custom"}
BLOCK, SEGMENT, DRIVER = 1, 2, 3
STEP = 16
WORK_END = 20


@dataclass
class Site:
    device: int
    domain: int
    label: str
    stack: list  # (function, file, line), innermost first
    alloc_cnt: int
    alloc_bytes: int
    free_cnt: int
    free_bytes: int
    live_bytes: int
    peak_bytes: int


@dataclass
class Totals:
    path: str
    pid: int
    is_closed: bool
    rank: int
    local_rank: int
    world_size: int
    job: str
    health: dict
    common_bytes: int = 0  # allocated at site 0, which all sites without room share
    sites: list = field(default_factory=list)
    ooms: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    marks: list = field(default_factory=list)
    counters: dict = field(default_factory=dict)
    peaks: dict = field(default_factory=dict)

    def select(self, device=None, domain=BLOCK):
        return [site for site in self.sites if site.domain == domain and (device is None or site.device == device)]

    def sum(self, name, device=None, domain=BLOCK):
        return sum(getattr(site, name) for site in self.select(device, domain))

    def peak(self, counter, device):
        """The largest value a counter ever had; None when there is no such counter."""
        return self.peaks.get((counter, device))

    def at_line(self, file_end, line):
        """Sites whose stack passes through this line."""
        return [site for site in self.sites
                if any(frame[1].endswith(file_end) and frame[2] == line for frame in site.stack)]


class Window(ctypes.Structure):
    """ZSTD_inBuffer and ZSTD_outBuffer."""
    _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]


def unpack_zstd(packed):
    """Uses the library: not every machine has the command."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_createDStream.restype = ctypes.c_void_p
    library.ZSTD_decompressStream.restype = ctypes.c_size_t
    library.ZSTD_decompressStream.argtypes = [ctypes.c_void_p, ctypes.POINTER(Window), ctypes.POINTER(Window)]
    library.ZSTD_freeDStream.argtypes = [ctypes.c_void_p]
    stream = library.ZSTD_createDStream()
    room = ctypes.create_string_buffer(1 << 20)
    source = Window(ctypes.cast(ctypes.c_char_p(packed), ctypes.c_void_p), len(packed), 0)
    plain, left = [], 1
    while left:
        target = Window(ctypes.cast(room, ctypes.c_void_p), len(room), 0)
        left = library.ZSTD_decompressStream(stream, target, source)
        if library.ZSTD_isError(ctypes.c_size_t(left)) or (left and source.pos == source.size and target.pos == 0):
            raise ValueError("a damaged zstd frame")
        plain.append(room.raw[:target.pos])
    library.ZSTD_freeDStream(stream)
    return b"".join(plain)


class Reader:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self.data[:4] == b"\x28\xb5\x2f\xfd":  # compact
            self.data = unpack_zstd(bytes(self.data))
        if self.data[:8] != b"\x89SLOG\r\n\x1a":
            raise ValueError(f"{path}: not a recording")
        (count, self.state) = self.unpack("<2I", 24)
        self.sections = {}
        for i in range(count):
            kind, size, offset, cap, level, _ = self.unpack("<2I2Q2I", 120 + 32 * i)
            if level == 0 and kind in SECTIONS:
                reserved, used = self.unpack("<2Q", self.state + 64 + 16 * i)
                self.sections[SECTIONS[kind]] = (offset, size, min(used + 1, reserved), cap)

    def unpack(self, fmt, offset):
        return struct.unpack_from(fmt, self.data, offset)

    def text(self, offset, cap):
        return self.data[offset:offset + cap].split(b"\0")[0].decode("utf-8", "replace")

    def string(self, number):
        if not number:
            return ""
        at = self.sections["strings"][0] + 8 * number
        length = self.unpack("<I", at)[0]
        return self.data[at + 8:at + 8 + length].decode("utf-8", "replace")

    def frame(self, number):
        function, file, line, _ = self.unpack("<4I", self.sections["frames"][0] + 16 * number)
        return (self.string(function), self.string(file), line)

    def stack(self, number):
        frames = []
        while number:
            number, frame = self.unpack("<2I", self.sections["stacks"][0] + 8 * number)
            frames.append(self.frame(frame))
        return frames

    def rows(self, name, fmt):
        """Records of a section whose first word is set, in order."""
        offset, size, _, cap = self.sections[name]
        for i in range(cap):
            at = offset + size * i
            if at + size > len(self.data):
                return
            row = self.unpack(fmt, at)
            yield at, row

    def used_rows(self, name, fmt):
        offset, size, used, _ = self.sections[name]
        for i in range(used):
            at = offset + size * i
            yield at, self.unpack(fmt, at)


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


def read_sites(reader):
    for _, row in reader.used_rows("sites", "<IHbB7Q"):
        stack, label, device, domain, *numbers = row
        if domain in (BLOCK, SEGMENT, DRIVER):
            allocs, allocated, frees, freed, _, peak = numbers[:6]
            yield Site(device, domain, label_text(reader, label), reader.stack(stack), allocs, allocated, frees, freed,
                       allocated - freed, peak)


def label_text(reader, number):
    if not number:
        return ""
    return reader.string(reader.unpack("<Q", reader.sections["labels"][0] + 8 * number)[0] & 0xffffffff)


def read_marks(reader, totals):
    rows = []
    for _, (seq, time_ns, number, name_word, _) in reader.used_rows("marks", "<5Q"):
        if seq:
            rows.append((seq >> 8, seq & 255, number, reader.string(name_word & 0xffffffff)))
    for _, kind, number, name in sorted(rows):
        if kind == STEP:
            totals.steps.append(number)
        elif kind != WORK_END:
            totals.marks.append((kind, name))


def read_ooms(reader):
    for at, row in reader.used_rows("ooms", "<12Q"):
        seq, _, device_word, message, requested, allocated, reserved, *_ = row
        if seq:
            holders = [reader.unpack("<3Q", at + 128 + 24 * i) for i in range(min(row[9], 32))]
            yield {"device": signed(device_word & 0xffffffff, 32), "stack": reader.stack(device_word >> 32),
                   "requested": requested, "allocated": allocated, "reserved": reserved, "holders": holders}


def read_counters(reader, totals):
    for i, (_, (word, last, last_ns, why)) in enumerate(reader.used_rows("counters", "<4Q")):
        kind = COUNTERS.get(word & 255)
        if not kind:
            continue
        key = (reader.string(word >> 32) if word >> 32 else kind, signed((word >> 16) & 0xffff, 16))
        totals.counters[key] = (last if not why else None, reader.string(why))
        totals.peaks[key] = read_peak(reader, i)


def read_peak(reader, number):
    """Largest maximum of all bins of all levels of one counter."""
    offset, size, _, _ = reader.sections["curves"]
    data = reader.data[offset + size * number:offset + size * (number + 1)]
    bins = struct.iter_unpack("<5Q", data[:len(data) // 40 * 40])
    return max((top >> 16 for bin_, _, top, _, cnt in bins if bin_ and top & 0xffff == bin_ & 0xffff), default=None)


def load(path):
    reader = Reader(path)
    closing = reader.unpack("<Q", reader.state)[0]
    rank_word, world = reader.unpack("<QQ", reader.state + 24)
    health = dict(zip(HEALTH, reader.unpack(f"<{len(HEALTH)}Q", reader.state + 576)))
    totals = Totals(path=path, pid=reader.unpack("<I", 64)[0], is_closed=closing == 2,
                    rank=signed(rank_word & 0xffffffff, 32), local_rank=signed(rank_word >> 32, 32),
                    world_size=signed(world, 64), job=reader.text(120 + 32 * 32, 128), health=health)
    totals.sites = list(read_sites(reader))
    totals.common_bytes = reader.unpack("<Q", reader.sections["sites"][0] + 16)[0]
    totals.ooms = list(read_ooms(reader))
    read_counters(reader, totals)
    read_marks(reader, totals)
    return totals


def load_all(folder):
    return [load(path) for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.slog")))]
