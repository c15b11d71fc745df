# SPDX-License-Identifier: MIT
"""Reads a .slog with nothing but docs/format.md: no code and no header of the project. It is compared with the program in
test_decoder.py, so a mistake that reader and writer share would have to be in the text as well.

usage: slog_decode.py FILE          events as `stormlog cat --format json --stacks` prints them
       slog_decode.py --summary FILE  counts as in `stormlog fsck --format json`
"""

import json
import struct
import subprocess
import sys
import zlib

MAGIC = b"\x89SLOG\r\n\x1a"
VERSION = (1, 1)
PACKED = {b"\x28\xb5\x2f\xfd": "zstd", b"\xfd\x37\x7a\x58\x5a\x00": "xz", b"\x1f\x8b": "gzip"}
SIZE_MASK = (1 << 48) - 1
NAMES = {1: "strings", 2: "frames", 3: "stacks", 4: "sites", 5: "labels", 6: "threads", 7: "counters", 8: "curves", 9: "marks",
         10: "alerts", 11: "ooms", 12: "ring", 13: "live"}
KINDS = {1: "alloc", 2: "free", 3: "free_requested", 4: "free_completed", 5: "segment_alloc", 6: "segment_free",
         7: "segment_map", 8: "segment_unmap", 9: "driver_alloc", 10: "driver_free", 11: "snapshot", 12: "oom", 13: "annotate",
         14: "reserved", 15: "sample", 16: "step", 17: "mark_begin", 18: "mark_end", 19: "alert", 20: "work_end", 21: "settings",
         22: "request", 23: "reusable", 24: "empty_cache", 25: "tracking"}
# kind: (+1 or -1, domain)
EFFECTS = {1: (1, 1), 2: (-1, 1), 4: (-1, 1), 5: (1, 2), 6: (-1, 2), 9: (1, 3), 10: (-1, 3)}


class Refused(Exception):
    pass


def signed8(value):
    return value - 256 if value & 0x80 else value


def unpacked(data):
    for magic, program in PACKED.items():
        if data.startswith(magic):
            return subprocess.run([program, "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return data


def from_columns(chunk):
    count = (len(chunk) - 64) // 32
    columns = [chunk[64 + k * count:64 + (k + 1) * count] for k in range(32)]
    result, before = bytearray(chunk[:64]), 0
    for record in zip(*columns):
        *words, last = struct.unpack("<4Q", bytes(record))
        before = (before + last) & SIZE_MASK
        result += struct.pack("<4Q", *words, last >> 48 << 48 | before)
    return bytes(result)


class Section:
    def __init__(self, log, index, row):
        self.kind, self.record_bytes, self.offset, self.cap, self.level, self.form = struct.unpack_from("<IIQQII", row)
        self.reserved, self.used = struct.unpack_from("<QQ", log.data, 4096 + 64 + 16 * index)
        if self.reserved > self.cap or self.offset + self.reserved * self.record_bytes > len(log.data):
            raise Refused(f"section {self.kind} is cut")
        self.log = log

    def record(self, i):
        at = self.offset + i * self.record_bytes
        data = self.log.data[at:at + self.record_bytes]
        return from_columns(data) if self.form == 1 else data

    def words(self, i):
        return struct.unpack(f"<{self.record_bytes // 8}Q", self.record(i))


class Log:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = unpacked(file.read())
        if self.data[:8] != MAGIC:
            raise Refused("no magic")
        header = bytearray(self.data[:4096])
        self.version = struct.unpack_from("<HH", header, 8)
        if struct.unpack_from("<HH", header, 12) > VERSION:
            raise Refused("too new")
        crc, = struct.unpack_from("<I", header, 16)
        header[16:20] = bytes(4)
        if zlib.crc32(header) != crc:
            raise Refused("header checksum")
        count, = struct.unpack_from("<I", header, 24)
        self.pid, self.chunk_bytes, self.curve_bins, self.curve_levels, self.bin_ns = struct.unpack_from("<IIIIQ", header, 64)
        self.sections = [Section(self, i, header[120 + 32 * i:152 + 32 * i]) for i in range(count)]
        self.by_name = {}
        for section in self.sections:
            self.by_name.setdefault(NAMES.get(section.kind), section)

    def __getattr__(self, name):
        return self.by_name[name]

    # Names

    def string(self, i):
        if i == 0:
            return None
        at = self.strings.offset + 8 * i
        length, check = struct.unpack_from("<II", self.data, at)
        text = self.data[at + 8:at + 8 + length]
        if i >= self.strings.used or not 1 <= length <= 4095 or zlib.crc32(text) != check:
            raise Refused(f"string {i}")
        return text.decode("utf-8", "replace")

    def label(self, i):
        return self.string(self.labels.words(i)[0]) if i < self.labels.reserved else None

    def frames_of(self, stack):
        out = []
        while stack:
            caller, frame = struct.unpack("<II", self.stacks.record(stack))
            if caller >= stack or frame == 0 or frame >= self.frames.used:
                raise Refused(f"stack {stack}")
            function, file, line, kind = struct.unpack("<IIII", self.frames.record(frame))
            if kind == 0:
                raise Refused(f"frame {frame}")
            out.append({"file": self.string(file), "line": line, "function": self.string(function)})
            stack = caller
        return out

    # Threads and intents

    def threads_in_use(self):
        for i in range(self.threads.used):
            words = self.threads.words(i)
            yield {"slot": i, "tid": words[0] & 0xffffffff, "published": words[4], "chunk": words[5], "intent": words[8:16]}

    def intents(self):
        for thread in self.threads_in_use():
            w0, addr, w2, w3, position, site, time, phase = thread["intent"]
            if w0 == 0:
                continue
            published = False
            if position and thread["chunk"]:
                word = self.ring.words(thread["chunk"] - 1)[0]
                published = word >> 16 == position >> 16 and (word >> 1 & 0x7fff) > (position & 0xffff)
            yield {"event": self.event(w0, addr, w2, w3, time, thread["tid"], True), "site": site, "phase": phase,
                   "published": published, "kind": w0 & 0xff}

    # Events

    def event(self, w0, w1, w2, w3, time, tid, in_flight):
        return {"time_ns": time, "kind": KINDS.get(w0 & 0xff, "unknown"), "device": signed8(w0 >> 16 & 0xff), "addr": w1,
                "size": w2 & SIZE_MASK, "stack": w0 >> 32, "tid": tid, "label": self.label(w2 >> 48), "tag": self.label(w3 >> 48),
                "flags": w0 >> 24 & 0xff, "in_flight": in_flight, "frames": self.frames_of(w0 >> 32)}

    def events(self):
        rows = []
        self.damaged = 0
        self.published = {thread["slot"]: thread["published"] for thread in self.threads_in_use()}
        for i in range(self.ring.reserved):
            words = self.ring.words(i)
            ticket, count, base, slot, tid = words[0] >> 16, words[0] >> 1 & 0x7fff, words[1], words[2] & 0xffffffff, words[2] >> 32
            if words[3]:
                self.published[slot] = max(self.published[slot], words[3] - 1 + count)
            for n in range(count if ticket else 0):
                w0, w1, w2, w3 = words[8 + 4 * n:12 + 4 * n]
                if w0 & 0xff == 0 or w0 >> 8 & 0xff != ticket & 0xff:
                    self.damaged += 1
                    continue
                rows.append((slot, ticket, n, self.event(w0, w1, w2, w3, base + (w3 & SIZE_MASK), tid, False)))
        self.present = len(rows)
        # Within a slot by ticket and place, between slots a merge by time, then slot.
        rows.sort(key=lambda row: row[:3])
        queues = {}
        for slot, _, _, event in rows:
            queues.setdefault(slot, []).append(event)
        late = sorted((i["event"] for i in self.intents() if not i["published"]), key=lambda event: event["time_ns"])
        merged = []
        heads = {slot: 0 for slot in queues}
        while heads:
            slot = min(heads, key=lambda s: (queues[s][heads[s]]["time_ns"], s))
            event = queues[slot][heads[slot]]
            while late and late[0]["time_ns"] < event["time_ns"]:
                merged.append(late.pop(0))
            merged.append(event)
            heads[slot] += 1
            if heads[slot] == len(queues[slot]):
                del heads[slot]
        return merged + late

    # Tables

    def blocks(self):
        found = {}
        for section in self.sections:
            if NAMES.get(section.kind) != "live":
                continue
            for i in range(section.reserved):
                words = section.words(i)
                for slot in range(8):
                    size, site, _ = words[8 + 3 * slot:11 + 3 * slot]
                    if words[slot] > 1:
                        found[(size >> 56, signed8(size >> 48 & 0xff), words[slot])] = (size & SIZE_MASK, site & 0xffffffff)
        return found

    def site_table(self):
        sites = {}
        for i in range(self.sites.used):
            words = self.sites.words(i)
            if words[0] >> 56:
                sites[i] = {"allocs": words[1], "alloc_bytes": words[2], "frees": words[3], "free_bytes": words[4]}
        return sites

    def tables(self):
        """Sites and blocks with every intent carried through."""
        blocks, sites, doubt = self.blocks(), self.site_table(), {}
        intents = list(self.intents())
        for intent in intents:
            sign, domain = EFFECTS[intent["kind"]]
            event, phase, site = intent["event"], intent["phase"], sites[intent["site"]]
            key = (domain, event["device"], event["addr"])
            if sign > 0:
                blocks.setdefault(key, (event["size"], intent["site"]))
                site["allocs"] += phase < 2
                site["alloc_bytes"] += event["size"] if phase < 3 else 0
            else:
                if phase <= 4:
                    blocks.pop(key, None)
                site["free_bytes"] += event["size"] if phase < 2 else 0
            doubt.setdefault(intent["site"], []).append((sign, phase))
        for i, site in sites.items():
            mine = [size for size, owner in blocks.values() if owner == i]
            site["live"], site["live_bytes"] = len(mine), sum(mine)
            self.settle(site, "allocs", "frees", "live", 2, 1, doubt.get(i, []))
            self.settle(site, "alloc_bytes", "free_bytes", "live_bytes", 3, 2, doubt.get(i, []))
        return {i: site for i, site in sites.items() if site["allocs"] or site["frees"]}, blocks, intents

    @staticmethod
    def settle(site, plus, minus, live, alloc_phase, free_phase, doubt):
        missing = site[live] - (site[plus] - site[minus])
        if missing > 0 and (1, alloc_phase) in doubt:
            site[plus] += missing
        elif missing < 0 and (-1, free_phase) in doubt:
            site[minus] -= missing
        elif missing:
            raise Refused("totals and live blocks differ")

    def list_records(self, name):
        section = self.by_name[name]
        return sum(section.words(i)[0] != 0 for i in range(min(section.reserved, section.used)))

    def ending(self):
        closing, left = struct.unpack_from("<Q", self.data, 4096)[0], struct.unpack_from("<Q", self.data, 4096 + 40)[0]
        return "closed" if closing == 2 else "left" if left & 1 else "killed"

    def summary(self):
        events = self.events()
        sites, blocks, intents = self.tables()
        overwritten = max(0, sum(self.published.values()) - self.present)
        return {"ending": self.ending(), "events": len(events), "overwritten": overwritten, "damaged": self.damaged,
                "in_flight": len(intents), "sites": len(sites), "live_blocks": len(blocks),
                "live_bytes": sum(size for size, _ in blocks.values()), "marks": self.list_records("marks"),
                "alerts": self.list_records("alerts"), "ooms": self.list_records("ooms"), "threads": self.threads.used}


def main(argv):
    if argv[0] == "--summary":
        print(json.dumps(Log(argv[1]).summary()))
        return
    for event in Log(argv[0]).events():
        print(json.dumps(event, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1:])
