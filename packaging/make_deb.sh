#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes the Debian packages stormlog, libstormlog0, libstormlog-dev and python3-stormlog from the working tree: the
# files that git knows or does not ignore.
#
#   packaging/make_deb.sh [FOLDER]       FOLDER: where it works (default: build/deb); the packages are copied to dist/
#
# Installs debhelper and what packaging/debian/control names when run as root; else they must be there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(realpath -m "${1:-build/deb}")

fail() {
    echo "make deb: $*" >&2
    exit 1
}

command -v dpkg-buildpackage >/dev/null && [ -d /usr/share/doc/debhelper ] || [ "$(id -u)" != 0 ] ||
    apt-get install -y -qq --no-install-recommends dpkg-dev debhelper >/dev/null || fail "debhelper could not be installed"
[ "$(id -u)" != 0 ] || apt-get build-dep -y -qq ./packaging >/dev/null 2>&1 ||
    fail "what packaging/debian/control names could not be installed"

version=$(sed -nE "s/^  version: '([^']+)',/\1/p" meson.build)
source=$work/stormlog-$version
rm -rf "$work" && mkdir -p "$source"
git ls-files -z --cached --others --exclude-standard | grep -zv '^tests/data/' | tar --null -T - -cf - | tar -xf - -C "$source"
mv "$source/packaging/debian" "$source/debian"
# The date of the last commit, so that the same sources give the same packages.
date=$(git log -1 --format=%cD 2>/dev/null || date -R)
printf 'stormlog (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- The stormlog authors <stormlog@localhost>  %s\n' \
    "$version" "$date" >"$source/debian/changelog"
(cd "$source" && dpkg-buildpackage --build=binary --unsigned-changes --no-sign) >"$work/build.log" 2>&1 || {
    tail -n 30 "$work/build.log" >&2
    fail "see $work/build.log"
}
mkdir -p dist
for file in "$work"/*.deb; do
    [[ $file == *-dbgsym_* ]] || { cp "$file" dist/ && echo "dist/$(basename "$file"): $(stat -c %s "$file") bytes"; }
done
