#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes web/src/schema.ts from src/page/page_schema.h and the kinds of findings in src/report/report.h. --check compares
instead of writing."""
import pathlib
import re
import sys

WEB = pathlib.Path(__file__).resolve().parent
HEADER = WEB.parent / "src/page/page_schema.h"
REPORT = WEB.parent / "src/report/report.h"
TARGET = WEB / "src/schema.ts"


def finding_titles(report: str) -> list[str]:
    rows = re.sub(r"\s*\\\n\s*", " ", report)
    kinds = re.findall(r'X\(\w+, "([^"]+)", \d+, "([^"]+)", "[^"]+"\)', rows)
    return ["", "/** Kinds of findings, and how the page calls them. */", "export const FINDING_TITLES: Record<string, string> = {",
            *[f'  "{kind}": "{title}",' for kind, title in kinds], "};"]


def generate(header: str, report: str) -> str:
    version = re.search(r'SL_PAGE_SCHEMA "([^"]+)"', header).group(1)
    rows = re.findall(r'X\((\w+), (\w+), (\w+), "([^"]*)"\)', header)
    sections: dict[str, list[tuple[str, str, str]]] = {}
    for section, column, encoding, meaning in rows:
        sections.setdefault(section.lower(), []).append((column.lower(), encoding.lower(), meaning))
    lines = [
        "// Generated from src/page/page_schema.h and src/report/report.h by web/gen_schema.py; change those files instead.",
        f'export const SCHEMA = "{version}";',
        "",
        'export type Encoding = "plain" | "delta" | "bytes";',
        "",
        "export const COLUMNS = {",
    ]
    for section, columns in sections.items():
        lines.append(f"  {section}: {{")
        for column, encoding, meaning in columns:
            lines.append(f"    /** {meaning} */")
            lines.append(f'    {column}: "{encoding}",')
        lines.append("  },")
    lines += ["} as const;", "", "export type SectionName = keyof typeof COLUMNS;", *finding_titles(report), ""]
    return "\n".join(lines)


def main() -> int:
    text = generate(HEADER.read_text(), REPORT.read_text())
    if sys.argv[1:] == ["--check"]:
        if TARGET.read_text() == text:
            return 0
        print("web/src/schema.ts differs from src/page/page_schema.h and src/report/report.h: run web/gen_schema.py", file=sys.stderr)
        return 1
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
