#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts another path into a recording where one stood that says whose machine it was. Arguments: file, old path, new path of the same
length. Checksums are made anew; a place that is no string of the format is an error, and nothing is written."""

import struct
import sys
import zlib

HEADER_BYTES, HEADER_CRC = 4096, 16


def string_head(content, at):
    """Position of the string that holds these bytes: length and checksum stand before it, 8-aligned."""
    for start in range(at - at % 8, max(at - 4096, 8), -8):
        length, check = struct.unpack_from("<II", content, start - 8)
        if 1 <= length <= 4095 and start + length > at and zlib.crc32(content[start:start + length]) == check:
            return start - 8, length
    sys.exit(f"byte {at}: expected a string of the format, found {bytes(content[at:at + 16])!r}")


def main():
    path, old, new = sys.argv[1], sys.argv[2].encode(), sys.argv[3].encode()
    if len(old) != len(new):
        sys.exit(f"expected a path of {len(old)} bytes, found {len(new)}")
    with open(path, "rb") as file:
        content = bytearray(file.read())
    heads, at = set(), content.find(old)
    while at >= 0:
        if at >= HEADER_BYTES:
            heads.add(string_head(content, at))
        at = content.find(old, at + 1)
    content = content.replace(old, new)
    for head, length in heads:
        struct.pack_into("<I", content, head + 4, zlib.crc32(content[head + 8:head + 8 + length]))
    struct.pack_into("<I", content, HEADER_CRC, 0)
    struct.pack_into("<I", content, HEADER_CRC, zlib.crc32(content[:HEADER_BYTES]))
    with open(path, "wb") as file:
        file.write(content)
    print(f"{path}: {len(heads)} strings and the header")


main()
