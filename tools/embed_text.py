#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns a text file into a C source: embed_text.py INPUT OUTPUT HEADER NAME."""
import pathlib
import sys


def main() -> int:
    source, target, header, name = sys.argv[1:]
    data = pathlib.Path(source).read_bytes()
    if b"\0" in data:
        print(f"{source}: holds a zero byte, so it cannot be a C string", file=sys.stderr)
        return 1
    # Numbers, not a string literal: C17 guarantees only literals of up to 4,095 characters.
    # char is signed here, and a number above 127 would cause a warning.
    signed = [b - 256 if b > 127 else b for b in data]
    rows = (",".join(map(str, signed[i:i + 40])) for i in range(0, len(signed), 40))
    body = ",\n".join(rows)
    pathlib.Path(target).write_text(
        f'#include "{header}"\n\nconst char {name}[] = {{\n{body}{"," if data else ""}0}};\n')
    return 0


if __name__ == "__main__":
    sys.exit(main())
