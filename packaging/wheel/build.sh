#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes dist/stormlog-*.tar.gz and, from it, a wheel for every x86-64 Linux with glibc 2.27 or newer (Debian 10, RHEL 8,
# Ubuntu 18.04) and every CPython from 3.9 on.
#
#   packaging/wheel/build.sh [FOLDER]      FOLDER: what is kept between runs (default: build/wheel)
#
# Debian 12's gcc compiles against the headers and libraries of glibc 2.27 (sources.txt, pinned by their sums); Debian 12's
# archives of the other libraries (bundled.txt) are linked in. A symbol that glibc 2.27 lacks is an error of the linker, so
# the result cannot need a newer one; setup.py reads the tag from the files themselves. No root, no container.
#
#   UBUNTU_MIRROR, DEBIAN_MIRROR   where the archives are
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=packaging/wheel
work=$(realpath -m "${1:-build/wheel}")
root=$work/sysroot
multi=usr/lib/x86_64-linux-gnu
declare -A mirror=([ubuntu]=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu} [debian]=${DEBIAN_MIRROR:-http://deb.debian.org/debian})
# Used to compile only: what the headers and pkg-config files of the bundled libraries name.
# libcurl and libmicrohttpd are loaded when they are first needed (src/net/curl_load.h), so a wheel has their headers only.
needed_headers=(libcurl4-openssl-dev libmicrohttpd-dev libpython3-dev libpython3.11-dev libglib2.0-dev libpcre2-dev libffi-dev x11proto-dev)

fail() {
    echo "make wheel: $*" >&2
    exit 1
}

table() { grep -v '^#' "$here/$1"; }

need() {
    [ "$(uname -m)" = x86_64 ] || fail "the pinned files are for x86-64, this is $(uname -m)"
    local missing
    missing=$(table bundled.txt | awk '{ print $1 }' | xargs dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>&1 |
        awk '$1 != "installed" { print $NF }')
    [ -z "$missing" ] || fail "not installed: $(echo "$missing" | tr '\n' ' ')(make setup installs libcairo2-dev, which brings them)"
}

fetch() {
    mkdir -p "$work/downloads"
    local sum archive path file
    while read -r sum archive path; do
        file=$work/downloads/$(basename "$path")
        if ! echo "$sum  $file" | sha256sum --check --status 2>/dev/null; then
            curl --fail --silent --show-error --location -o "$file" "${mirror[$archive]}/$path" ||
                fail "cannot fetch ${mirror[$archive]}/$path"
            echo "$sum  $file" | sha256sum --check --status || fail "$file is not the file that $here/sources.txt names (sum $sum)"
        fi
    done < <(table sources.txt)
}

# Headers, archives and pkg-config files only: with no shared library there, -lz means libz.a.
copy_package() {
    local file
    dpkg -L "$1" | grep -E '^/usr/include/.|\.a$|\.pc$' | while read -r file; do
        [ ! -f "$file" ] || install -D -m 644 "$file" "$root$file"
        [[ $file != *.a ]] || objcopy --redefine-sym stderr=sl_wheel_stderr --redefine-sym stdout=sl_wheel_stdout "$root$file"
    done
}

make_root() {
    local file package link
    rm -rf "$root"
    for file in "$work"/downloads/*.deb; do
        dpkg-deb -x "$file" "$root"
    done
    # Absolute links would lead to this machine's glibc.
    find "$root" -type l -lname '/*' | while read -r link; do
        ln -sfn "$root$(readlink "$link")" "$link"
    done
    for package in $(table bundled.txt | awk '{ print $1 }') "${needed_headers[@]}"; do
        copy_package "$package"
    done
    # They would name what these libraries themselves are linked with.
    sed -i -E '/^(Requires|Libs)\.private/d' "$root/$multi"/pkgconfig/{libcurl,libmicrohttpd}.pc
    # Debian's gcc searches its own folder before the sysroot's, unless it is told where to look first.
    export CC="${CCACHE_DIR:+ccache }gcc --sysroot=$root -B$root/$multi -L$root/$multi"
    export PKG_CONFIG_LIBDIR=$root/$multi/pkgconfig:$root/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
    $CC -O2 -fPIC -Wall -Wextra -Werror -c $here/archive_needs.c -o "$work/archive_needs.o"
    ar rcs "$root/$multi/libarchive_needs.a" "$work/archive_needs.o"
    build_pixman
    touch "$root/.is-complete"
}

build_pixman() {
    local folder=$work/pixman
    rm -rf "$folder" && mkdir "$folder"
    tar -xf "$work"/downloads/pixman_*.tar.gz -C "$folder" --strip-components=1
    meson setup "$folder/out" "$folder" --prefix=/usr --libdir=lib/x86_64-linux-gnu -Ddefault_library=static -Dbuildtype=release \
        -Dtests=disabled -Dgtk=disabled -Dlibpng=disabled -Dopenmp=disabled >"$work/pixman.log" 2>&1 &&
        ninja -C "$folder/out" >>"$work/pixman.log" 2>&1 &&
        DESTDIR=$root meson install -C "$folder/out" >>"$work/pixman.log" 2>&1 || fail "pixman: see $work/pixman.log"
}

# The licences ask that their texts go along.
copy_notices() {
    local package
    rm -rf "$work/licenses" && mkdir "$work/licenses"
    for package in $(table bundled.txt | awk '{ print $1 }'); do
        cp "/usr/share/doc/$package/copyright" "$work/licenses/$package.txt" || fail "no copyright file of $package"
    done
}

need
fetch
inputs=$(cat $here/* <(dpkg-query -W $(table bundled.txt | awk '{ print $1 }')) | sha256sum)
if [ ! -e "$root/.is-complete" ] || [ "$inputs" != "$(cat "$work/inputs" 2>/dev/null)" ]; then
    make_root
    echo "$inputs" >"$work/inputs"
fi
copy_notices
export CC="${CCACHE_DIR:+ccache }gcc --sysroot=$root -B$root/$multi -L$root/$multi"
export PKG_CONFIG_LIBDIR=$root/$multi/pkgconfig:$root/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
export LDFLAGS="-Wl,--gc-sections -s $root/$multi/libarchive_needs.a"
export STORMLOG_NOTICES=$work/licenses
# The machine's own libcurl and libmicrohttpd are used where they are: TLS must follow a distribution's updates.
export STORMLOG_MESON_ARGS="-Dprefer_static=true -Dcurl=enabled -Dmicrohttpd=enabled"
rm -rf "$work/out"
/usr/bin/python3 -m build --no-isolation --outdir "$work/out" . >"$work/build.log" 2>&1 || {
    tail -n 30 "$work/build.log" >&2
    fail "see $work/build.log"
}
mkdir -p dist
cp "$work"/out/* dist/
for file in "$work"/out/*; do
    echo "dist/$(basename "$file"): $(stat -c %s "$file") bytes"
done
