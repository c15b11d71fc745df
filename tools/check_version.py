#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The version is written twice, in meson.build and in include/stormlog/version.h, because each is used where the other is not
available; this compares them. Argument: a build folder, whose sl_config.h has meson's."""

import re
import sys
from pathlib import Path

from source_tree import ROOT


def find(pattern, path):
    match = re.search(pattern, path.read_text())
    return match[1] if match else "none"


def main(argv):
    public = ROOT / "include" / "stormlog" / "version.h"
    if not public.exists():
        print("there is no include/stormlog/version.h yet")
        return 77
    of_meson = find(r'#define\s+SL_BUILD_VERSION\s+"([^"]+)"', Path(argv[0]) / "src" / "sl_config.h")
    of_header = find(r'#define\s+SL_VERSION_STRING\s+"([^"]+)"', public)
    numbers = ".".join(find(rf"#define\s+SL_VERSION_{part}\s+(\d+)", public) for part in ("MAJOR", "MINOR", "PATCH"))
    print(f"meson.build {of_meson}, SL_VERSION_STRING {of_header}, SL_VERSION_MAJOR.MINOR.PATCH {numbers}")
    return 0 if of_meson == of_header == numbers else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
