#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the page's tests, or says in TAP why they cannot run here: run_web.py STORMLOG PART MAKE_PAGE.

Parts: sources (what is generated and checked in is fresh), unit (the model code), and one for each file of pages/.
"""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")


def missing(part):
    """What this part needs and this machine does not have; None when it can run."""
    if not shutil.which("node"):
        return "node is not installed"
    if not (WEB / "node_modules/esbuild").is_dir():
        return "web/node_modules is not there: run npm ci in web/"
    if part not in ("sources", "unit") and not pathlib.Path(CHROMIUM).exists():
        return f"{CHROMIUM} is not installed"
    return None


def check_sources():
    """Three points: the schema, the types, the built page."""
    checks = {
        "schema.ts is generated from page_schema.h and report.h": [sys.executable, str(WEB / "gen_schema.py"), "--check"],
        "the sources are well typed": ["node", str(WEB / "node_modules/typescript/bin/tsc"), "-p", str(WEB)],
        "dist/report.html is built from the sources": ["node", str(WEB / "build.mjs"), "--check"],
    }
    print(f"1..{len(checks)}")
    failed = 0
    for number, (name, command) in enumerate(checks.items(), 1):
        run = subprocess.run(command, cwd=WEB, capture_output=True, text=True)
        failed += run.returncode != 0
        print(f"{'ok' if run.returncode == 0 else 'not ok'} {number} - {name}")
        for line in (run.stdout + run.stderr).splitlines() if run.returncode else []:
            print(f"# {line}")
    return 1 if failed else 0


def main():
    stormlog, part, make_page = sys.argv[1:]
    reason = missing(part)
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    if part == "sources":
        return check_sources()
    here = ROOT / "tests/web"
    files = sorted((here / "unit").glob("*.test.mjs")) if part == "unit" else [here / "pages" / f"{part}.test.mjs"]
    environment = dict(os.environ, STORMLOG=stormlog, STORMLOG_MAKE_PAGE=make_page)
    return subprocess.run(["node", "--test", "--test-reporter=tap", *map(str, files)], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
