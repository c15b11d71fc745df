#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that #include lines follow the allowed dependencies between the folders of src/, and a few rules about files.

The tables below are the rules; the code only applies them. Prints one line per violation and exits with 1, else 0.
Argument (for the test of this script): another root than the repository's own.
"""

import re
import sys
from collections import Counter
from pathlib import Path

from source_tree import ROOT, c_files

# Everything that analyses and shows a recording: the folders that a program (cli, memprof, tui, pyext) uses.
BELOW_PROGRAMS = ["base", "net", "telemetry", "model", "log", "ship", "counters", "read", "run", "whatif",
                  "report", "analyze", "export", "page", "plot", "api", "ranks", "agent"]

# folder: the folders it may include besides itself and the public headers.
ALLOWED_FOLDERS = {
    "base": [],
    "net": ["base"],
    "telemetry": ["base"],
    "model": ["base", "telemetry"],
    "log": ["base", "model"],
    "ship": ["base", "net", "model", "log"],
    "counters": ["base", "model"],
    "read": ["base", "telemetry", "model", "log"],
    "run": ["base", "telemetry", "model"],
    "whatif": ["base", "model", "run"],
    "report": ["base", "model", "run"],
    "analyze": ["base", "telemetry", "model", "run", "whatif", "report"],
    "export": ["base", "telemetry", "model", "run", "whatif", "report"],
    "page": ["base", "telemetry", "model", "run", "whatif", "report", "export"],
    "plot": ["base", "telemetry", "model", "run", "whatif", "report", "export"],
    "record": ["base", "model", "log", "counters"],
    "api": ["base", "net", "telemetry", "model", "log", "ship", "counters", "read", "run", "whatif", "report", "analyze", "export", "page",
            "plot"],
    "ranks": ["base", "telemetry", "model", "log", "read", "run", "report", "analyze", "export", "api"],
    "agent": ["base", "net", "model", "log", "run", "analyze", "export", "api"],
    "cli": [*BELOW_PROGRAMS, "record"],
    "memprof": [*BELOW_PROGRAMS, "cli"],
    "tui": [*BELOW_PROGRAMS, "record"],
    "pyext": [*BELOW_PROGRAMS, "record", "memprof"],
}

# Single headers granted beyond that: the command line starts the full-screen program and `top` through one function each, and its table
# of commands lists those of the compatible programs.
ALLOWED_HEADERS = {
    "cli": {"tui/tui_run.h", "tui/tui_top.h", "memprof/compat_cli.h", "memprof/compat_report.h"},
}

PURE = [
    (r"(time|sys/time|fcntl|unistd|dirent|sys/stat|sys/mman)\.h", "facts and findings are pure: no clock, no files"),
    (r"base/(core/(clock|sys|diag)|files/.*)\.h", "facts and findings are pure: no clock, no files"),
]

# Headers of an allowed folder, or of the system, that a folder still must not use: (pattern, why).
FORBIDDEN_HEADERS = {
    "record": [
        (r"base/text/(json_out|json_in|json_text|csv_in)\.h", "text formats stay out of other people's processes"),
        (r"log/read/.*\.h", "the recorder only writes"),
    ],
    "analyze": PURE,
    "run": PURE,
    "whatif": PURE,
}

# Third-party headers that only some files may include: (pattern, those files, relative to src).
OWNED_HEADERS = [
    (r"Python\.h", r"pyext/.*"),
    (r"(ncursesw/)?n?curses\.h", r"tui/tui_term\.c"),
    (r"(zlib|zstd|lzma)\.h", r"(base|log|read|export|page)/.*"),
    (r"cairo/.*|cairo.*\.h", r"plot/.*"),
    (r"curl/.*|microhttpd\.h", r"net/.*"),
]

# Headers that every folder may include: facts of the build.
GENERATED_HEADERS = {"sl_config.h"}

# Files with such vague names collect unrelated code.
FORBIDDEN_NAMES = {"common", "util", "utils", "misc", "helpers"}

# A folder of src/ with more files than this gets subfolders, so that files are easy to find.
FOLDER_MAX = 26

INCLUDE = re.compile(r'^\s*#\s*include\s+(?P<open>[<"])(?P<path>[^">]+)[">]')


class Checker:
    def __init__(self, root):
        self.root = root
        self.breaches = []

    def report(self, path, line, text):
        self.breaches.append(f"{path.relative_to(self.root)}:{line}: {text}")

    def check_file(self, path):
        includes = list(read_includes(path))
        self.check_name(path)
        if path.suffix == ".h":
            self.check_guard(path)
        if path.is_relative_to(self.root / "src"):
            self.check_order(path, includes)
            for line, bracket, target in includes:
                self.check_arrow(path, line, bracket, target)
        elif path.is_relative_to(self.root / "include"):
            for line, bracket, target in includes:
                if bracket == '"' and not target.startswith("stormlog/"):
                    self.report(path, line, f"a public header may not include '{target}', which users do not have")

    def check_name(self, path):
        if path.stem in FORBIDDEN_NAMES:
            self.report(path, 1, f"the name '{path.stem}' says nothing; name the file after what it owns")

    def check_guard(self, path):
        expected = f"SL_{path.stem.upper()}_H"
        match = re.search(r"^#ifndef (\w+)\n#define \1$", path.read_text(), re.MULTILINE)
        found = match[1] if match else "none"
        if found != expected:
            self.report(path, 1, f"expected the header guard {expected}, found {found}")

    def check_order(self, path, includes):
        own = path.relative_to(self.root / "src").with_suffix(".h")
        rest = includes
        if path.suffix == ".c" and path.with_suffix(".h").exists():
            if not includes or includes[0][2] != str(own):
                self.report(path, 1, f"the first include must be its own header '{own}', so that it is known to stand alone")
            rest = includes[1:]
        seen_project = False
        for line, bracket, target in rest:
            if target in GENERATED_HEADERS:
                continue  # decides which system headers exist, so it may come before them
            if bracket == '"':
                seen_project = True
            elif seen_project:
                self.report(path, line, f"<{target}> stands after project headers; system headers come first")

    def check_arrow(self, path, line, bracket, target):
        relative = path.relative_to(self.root / "src")
        folder = relative.parts[0]
        for pattern, why in FORBIDDEN_HEADERS.get(folder, []):
            if re.fullmatch(pattern, target):
                self.report(path, line, f"{folder} must not include '{target}': {why}")
        for pattern, owner in OWNED_HEADERS:
            if re.fullmatch(pattern, target) and not re.fullmatch(owner, str(relative)):
                self.report(path, line, f"'{target}' may be included only by src/{owner}")
        if bracket == "<" or target in GENERATED_HEADERS:
            return
        self.check_folder(path, line, folder, target)

    def check_folder(self, path, line, folder, target):
        target_folder = target.split("/")[0] if "/" in target else ""
        if folder not in ALLOWED_FOLDERS:
            self.report(path, line, f"src/{folder} is not in the table of folders")
        elif target_folder == "stormlog":
            pass
        elif not (self.root / "src" / target).exists():
            self.report(path, line, f"'{target}' is not a header; write the folder too, as in \"base/core/status.h\"")
        elif (target_folder != folder and target_folder not in ALLOWED_FOLDERS[folder]
              and target not in ALLOWED_HEADERS.get(folder, ())):
            allowed = ", ".join(ALLOWED_FOLDERS[folder]) or "nothing"
            self.report(path, line, f"{folder} may include {allowed}; '{target}' is not among them")

    def check_folder_sizes(self, paths):
        counts = Counter(path.parent for path in paths if path.is_relative_to(self.root / "src"))
        for folder, cnt in counts.items():
            if cnt > FOLDER_MAX:
                self.breaches.append(f"{folder.relative_to(self.root)}: {cnt} files, at most {FOLDER_MAX}; give it a second level")

    def check_unique_names(self, paths):
        first = {}
        for path in paths:
            other = first.setdefault(path.name, path)
            if other is not path:
                self.report(path, 1, f"a second file of this name; the first is {other.relative_to(self.root)}")


def read_includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match["open"], match["path"]


def main(argv):
    checker = Checker(Path(argv[0]).resolve() if argv else ROOT)
    paths = c_files("src", "include", "tests", "bench", root=checker.root)
    for path in paths:
        checker.check_file(path)
    checker.check_unique_names(paths)
    checker.check_folder_sizes(paths)
    print("\n".join(checker.breaches) or f"{len(paths)} files follow the layers")
    return 1 if checker.breaches else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
