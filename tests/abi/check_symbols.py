#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The dynamic symbols the shared libraries export are the lists beside this file, no more and no less; and the library that
goes into other people's processes needs nothing but libc. Arguments: [--update] BUILD; --update writes the lists anew.
"""

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import tap  # noqa: E402

LIBRARIES = ["libstormlog", "libstormlog_record"]
# The loader is named as needed where thread-local variables are used.
LIBC_ONLY = {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}

is_update = "--update" in sys.argv
build = Path([argument for argument in sys.argv[1:] if argument != "--update"][0])
del sys.argv[1:]


def need(library, tool):
    path = build / f"{library}.so"
    if not path.exists():
        tap.skip(f"{path.name} is not built yet")
    if not shutil.which(tool):
        tap.skip(f"{tool} is not installed")
    return path


def exported(path):
    listing = tap.run(["nm", "-D", "--defined-only", "--format=posix", str(path)], check=True).stdout
    return "".join(sorted(line.split()[0] + "\n" for line in listing.splitlines()))


def list_of(library):
    return HERE / f"{library}.symbols"


def update():
    for library in LIBRARIES:
        path = build / f"{library}.so"
        if path.exists():
            list_of(library).write_text(exported(path))


def add_symbol_test(library):
    @tap.test(f"{library} exports its list")
    def _():
        found = exported(need(library, "nm"))
        expected = list_of(library).read_text() if list_of(library).exists() else ""
        if found != expected:
            raise AssertionError("exported symbols differ; if that is meant: make golden-update\n"
                                 + tap.text_diff(expected, found))


for name in LIBRARIES:
    add_symbol_test(name)


@tap.test("libstormlog_record needs only libc")
def _():
    path = need("libstormlog_record", "readelf")
    listing = tap.run(["readelf", "-d", str(path)], check=True).stdout
    needed = {line.split("[")[1].rstrip("]") for line in listing.splitlines() if "(NEEDED)" in line}
    tap.equal(sorted(needed - LIBC_ONLY), [], "libraries beyond libc")


if is_update:
    update()
else:
    tap.main()
