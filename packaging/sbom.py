#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the parts that stormlog is made of as a CycloneDX 1.5 document (JSON).

Usage: sbom.py BUILD [--wheel]

Without --wheel: what the programs in the build folder BUILD are linked with, as meson found it. With --wheel: what
packaging/wheel/build.sh links in. Both name the npm packages that are inside the page (web/dist/report.html).
The same inputs give the same bytes: no time, no random number.
"""

import json
import re
import subprocess
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# pkg-config's name of what meson.build lists in optional_deps, and the package of bundled.txt that has it.
LINKED = {"zlib": "zlib1g-dev", "liblzma": "liblzma-dev", "libzstd": "libzstd-dev", "ncursesw": "libncurses-dev", "cairo": "libcairo2-dev",
          "libmicrohttpd": "libmicrohttpd-dev", "libcurl": "libcurl4-openssl-dev"}
# Of libraries that no wheel contains; the others are in bundled.txt.
OTHER_LICENCES = {"libmicrohttpd": "LGPL-2.1-or-later", "libcurl": "curl"}


def bundled():
    """[(Debian package, name, licence)]."""
    lines = (ROOT / "packaging" / "wheel" / "bundled.txt").read_text().splitlines()
    return [tuple(line.split()) for line in lines if line and not line.startswith("#")]


def stormlog_version():
    return re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]


def component(name, version, licence, purl, **more):
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "licenses": [{"license": {"id": licence}}],
            "purl": purl, **more}


def debian_version(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def of_wheel():
    for package, name, licence in bundled():
        version = debian_version(package)
        if version is None:
            raise SystemExit(f"sbom: {package} is not installed, so the version of {name} is unknown")
        yield component(name, version, licence, f"pkg:deb/debian/{package}@{version}")


def of_build(folder):
    listing = subprocess.run(["meson", "introspect", "--dependencies", folder], check=True, capture_output=True, text=True)
    licences = {**{package: licence for package, _, licence in bundled()}, **OTHER_LICENCES}
    for found in sorted(json.loads(listing.stdout), key=lambda entry: entry["name"]):
        name = found["name"]
        if name in LINKED and found["version"] not in ("", "none", "unknown"):
            licence = licences.get(LINKED[name]) or licences[name]
            yield component(name, found["version"], licence, f"pkg:generic/{name}@{found['version']}")


def of_page():
    wanted = json.loads((ROOT / "web" / "package.json").read_text())["dependencies"]
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    for name in sorted(wanted):
        entry = lock[f"node_modules/{name}"]
        purl = f"pkg:npm/{name.replace('@', '%40')}@{entry['version']}"
        yield component(name, entry["version"], entry["license"], purl, description="inside the HTML page")


def document(parts):
    parts = list(parts)
    version = stormlog_version()
    purl = f"pkg:pypi/stormlog@{version}"
    names = " ".join(part["purl"] for part in parts)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        # Of the content, so that equal documents have equal numbers.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, purl + ' ' + names)}",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": purl, "name": "stormlog", "version": version,
                                   "licenses": [{"license": {"id": "MIT"}}], "purl": purl}},
        "components": parts,
        "dependencies": [{"ref": purl, "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def main(argv):
    folders = [argument for argument in argv if argument != "--wheel"]
    if len(folders) != 1:
        print("usage: sbom.py BUILD [--wheel]", file=sys.stderr)
        return 2
    libraries = of_wheel() if "--wheel" in argv else of_build(folders[0])
    json.dump(document([*libraries, *of_page()]), sys.stdout, indent=2)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
