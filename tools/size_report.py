#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the sizes of functions, files and products, so that growth is noticed early. It has no limits and always exits with 0.

For each folder: files, lines, the median and the 90th percentile of function lengths, functions over 60 lines, files
over 600, share of comment lines. Then the functions and files themselves, and the sizes of the built products.
"""

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from source_tree import ROOT, c_files, script_files

LONG_FUNCTION_LINES = 60
LONG_FILE_LINES = 600
PRODUCTS = ["stormlog", "libstormlog.so", "libstormlog.a", "libstormlog_record.so"]

# clang-format keeps a function's first line and its closing brace at the left edge, and nothing else that ends in "{"
# after a ")"; that makes a C parser unnecessary.
FUNCTION_END = re.compile(r"^}")
FUNCTION_OPEN = re.compile(r"\)\s*\{$")

# prettier puts a function's closing brace under the start of its first line. A line that opens one ends in "=> {", "} {"
# or "): type {" and does not begin with a statement's word.
SCRIPT_OPEN = re.compile(r"(=>|\)|\):.*) \{$")
SCRIPT_STATEMENT = re.compile(r"(\} )?(if|else|for|while|switch|do|try|catch|return)\b(?!.*=> \{$)")


@dataclass
class FileSize:
    path: Path
    lines: int
    comment_lines: int
    code_lines: int
    functions: list  # (name, lines)


@dataclass
class FolderSize:
    name: str
    files: list = field(default_factory=list)

    def function_lengths(self):
        return sorted(length for file in self.files for _, length in file.functions)


def measure_file(path):
    lines = path.read_text().splitlines()
    comment_lines, code_lines = count_comments(lines)
    return FileSize(path, len(lines), comment_lines, code_lines, list(functions_of(path, lines)))


def functions_of(path, lines):
    if path.suffix in (".c", ".h"):
        return find_functions(lines)
    return ((name, length) for name, _, length in script_functions(lines))


def count_comments(lines):
    """(lines with a comment, lines with code); a line may be both, an empty one is neither."""
    comment_cnt = code_cnt = 0
    is_inside = False
    for line in lines:
        has_comment = is_inside
        code = ""
        rest = line
        while rest:
            if is_inside:
                _, end, rest = rest.partition("*/")
                is_inside = not end
                continue
            before, start, rest = rest.partition("/*")
            code += before
            is_inside = bool(start)
            has_comment |= is_inside
        if "//" in code:
            has_comment = True
            code = code.partition("//")[0]
        comment_cnt += has_comment and bool(line.strip())
        code_cnt += bool(code.strip())
    return comment_cnt, code_cnt


def find_functions(lines):
    """(name, lines) of each function definition, signature and closing brace included."""
    start = None
    is_open = False
    for number, line in enumerate(lines):
        if is_open:
            if FUNCTION_END.match(line):
                yield function_name(lines[start]), number - start + 1
                start, is_open = None, False
            continue
        if re.match(r"[A-Za-z_]", line):
            start = number
        elif not line.startswith((" ", "\t")):
            start = None
        is_open = start is not None and bool(FUNCTION_OPEN.search(line))


def indent_of(line):
    return len(line) - len(line.lstrip())


def script_functions(lines):
    """(name, number of its first line, lines) of each function, method and callback of several lines, nested ones too."""
    for number, line in enumerate(lines):
        text = line.strip()
        if not SCRIPT_OPEN.search(line) or SCRIPT_STATEMENT.match(text):
            continue
        indent = indent_of(line)
        start = number
        # A signature of several lines: the function begins at its first line.
        while text[0] in ")}]" and start > 0:
            start -= 1
            if lines[start].strip() and indent_of(lines[start]) == indent:
                break
        end = number + 1
        while end < len(lines) and not (lines[end].lstrip().startswith("}") and indent_of(lines[end]) <= indent):
            end += 1
        yield function_name(lines[start]), start + 1, end - start + 1


def function_name(signature):
    match = re.search(r"(\w+)\(", signature)
    return match[1] if match else signature.strip()


def percentile(values, share):
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0


def by_folder():
    folders = {}
    for path in c_files("src", "include", "tests", "bench") + script_files():
        relative = path.relative_to(ROOT)
        name = "/".join(relative.parts[:2]) if len(relative.parts) > 2 else relative.parts[0]
        folders.setdefault(name, FolderSize(name)).files.append(measure_file(path))
    return [folders[name] for name in sorted(folders)]


def print_folder(folder):
    lengths = folder.function_lengths()
    comment_lines = sum(file.comment_lines for file in folder.files)
    all_lines = comment_lines + sum(file.code_lines for file in folder.files)
    print(f"{folder.name:<20} {len(folder.files):>5} {sum(file.lines for file in folder.files):>7} {len(lengths):>9} "
          f"{percentile(lengths, 0.5):>6} {percentile(lengths, 0.9):>4} "
          f"{sum(length > LONG_FUNCTION_LINES for length in lengths):>4} "
          f"{sum(file.lines > LONG_FILE_LINES for file in folder.files):>5} "
          f"{100 * comment_lines // max(all_lines, 1):>8}%")


def print_long_ones(folders):
    for folder in folders:
        for file in folder.files:
            relative = file.path.relative_to(ROOT)
            if file.lines > LONG_FILE_LINES:
                print(f"  {relative}: {file.lines} lines")
            for name, length in file.functions:
                if length > LONG_FUNCTION_LINES:
                    print(f"  {relative}: {name} has {length} lines")


def print_products(build):
    for name in PRODUCTS:
        path = build / name
        if path.exists():
            print(f"{name:<24} {path.stat().st_size:>12,} bytes")


def main(argv):
    parser = argparse.ArgumentParser(description="sizes of sources and products")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="build folder")
    args = parser.parse_args(argv)
    folders = by_folder()
    print(f"\n{'folder':<20} files   lines functions median  p90 >{LONG_FUNCTION_LINES}  >{LONG_FILE_LINES}  comments")
    for folder in folders:
        print_folder(folder)
    print_long_ones(folders)
    print()
    print_products(args.build)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
