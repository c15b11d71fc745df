# SPDX-License-Identifier: MIT
"""The data of a page, taken out of its HTML and decoded without the page's own program."""

import base64
import json
import re
import zlib

DELTA = {"curve": {"time", "max", "min", "last", "reserved_max", "reserved_last"}}


class Page:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.html = file.read()
        self.meta = json.loads(self.script("meta"))

    def script(self, name):
        return re.search(rf'<script[^>]* id="{name}"[^>]*>(.*?)</script>', self.html, re.S).group(1)

    def column(self, section, column, lane=None):
        """One column as integers, or as bytes where it is text."""
        name = section if lane is None else f"{section}-{lane}"
        about = self.meta["sections"].get(name)
        if about is None or column not in about["columns"]:
            return []
        data = base64.b64decode(self.script(name))
        if about["deflate"]:
            data = zlib.decompress(data)
        offset, length, _ = about["columns"][column]
        part = data[offset:offset + length]
        if (section, column) == ("names", "text"):
            return part
        values = list(varints(part))
        return list(sums(values)) if column in DELTA.get(section, ()) else values

    def strings(self):
        text, at, out = self.column("names", "text"), 0, []
        for length in self.column("names", "length"):
            out.append(bytes(text[at:at + length]).decode())
            at += length
        return out

    def frame(self, number):
        """"train.py:40", or the words for a line that is not known."""
        strings = self.strings()
        file = strings[self.column("names", "frame_file")[number]]
        line = self.column("names", "frame_line")[number]
        return f"{file}:{line}" if line else file or strings[self.column("names", "frame_function")[number]]


def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def sums(values):
    total = 0
    for value in values:
        total += value // 2 if value % 2 == 0 else -(value + 1) // 2
        yield total
