# SPDX-License-Identifier: MIT
"""The scripts of packaging/ that need no network: release notes, SBOM, and the lists that must agree. Argument: the build folder."""

import json
import re
import sys
from pathlib import Path

import tap

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
build = Path(sys.argv.pop(1))
sys.path.insert(0, str(PACKAGING))
import release_notes  # noqa: E402
import sbom  # noqa: E402

LOG = "# Changelog\n\n## Unreleased\n\nNew\n- a thing\n\n" \
      "## 0.0.9 - 2026-01-02\n\nOld things\n- one: two.\n  more of it\n\n## 0.0.8\n- first\n"


@tap.test("release notes are the section of the version, with its groups as headings")
def _():
    tap.equal(release_notes.notes(LOG, "0.0.9"), "# stormlog 0.0.9\n\n## Old things\n- one: two.\n  more of it\n")
    version = release_notes.current_version()
    tap.equal(release_notes.notes(LOG, version), f"# stormlog {version}\n\n## New\n- a thing\n",
              "what is not released yet belongs to the current version")
    tap.equal(release_notes.notes(LOG, "0.0.1"), None, "a version that is not there")


@tap.test("release notes of an unknown version: one line that names the known ones, exit code 1")
def _():
    done = tap.run([sys.executable, PACKAGING / "release_notes.py", "9.9.9"])
    tap.equal((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
    tap.contains(done.stderr, "Unreleased")


@tap.test("the SBOM names the libraries that this build uses, and the parts of the page")
def _():
    done = tap.run([sys.executable, PACKAGING / "sbom.py", build], check=True)
    document = json.loads(done.stdout)
    tap.equal((document["bomFormat"], document["specVersion"]), ("CycloneDX", "1.5"))
    names = {part["name"] for part in document["components"]}
    config = (build / "src" / "sl_config.h").read_text()
    pkg = {"HAVE_ZLIB": "zlib", "HAVE_LZMA": "liblzma", "HAVE_ZSTD": "libzstd", "HAVE_NCURSES": "ncursesw", "HAVE_CAIRO": "cairo"}
    used = {name for macro, name in pkg.items() if re.search(rf"#define {macro} 1$", config, re.MULTILINE)}
    tap.equal(sorted(used - names), [], "used, but not named")
    page = (ROOT / "web" / "dist" / "report.html").read_text()
    for name in json.loads((ROOT / "web" / "package.json").read_text())["dependencies"]:
        tap.true(name in names, f"{name}, which is inside the page of {len(page)} characters")
    tap.equal(done.stdout, tap.run([sys.executable, PACKAGING / "sbom.py", build]).stdout, "the same twice")


@tap.test("every optional library of meson.build has a licence in packaging/")
def _():
    found = re.findall(r"'HAVE_\w+': dependency\('([\w-]+)'", (ROOT / "meson.build").read_text())
    tap.true(len(found) >= 7, f"libraries: {found}")
    tap.equal(sorted(set(found) - set(sbom.LINKED)), [], "not in LINKED of packaging/sbom.py")
    licences = {package for package, _, _ in sbom.bundled()} | set(sbom.OTHER_LICENCES)
    for name in found:
        tap.true(sbom.LINKED[name] in licences or name in sbom.OTHER_LICENCES, f"licence of {name}")


@tap.test("packages for Debian and Conda and the container name every optional library")
def _():
    found = re.findall(r"'HAVE_\w+': dependency\('([\w-]+)'", (ROOT / "meson.build").read_text())
    for path in ("debian/control", "container/Containerfile"):
        text = (PACKAGING / path).read_text()
        tap.equal([name for name in found if sbom.LINKED[name] not in text], [], path)


tap.main()
