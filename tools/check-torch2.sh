#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Runs the recorder's tests against a real torch 2 (2.6, Python 3.13) without a GPU: Debian 13 is unpacked into
# build/debian13 (once, by debootstrap), and the tests run inside with the program built here.
#
#   tools/check-torch2.sh BUILD          last line: N passed, N failed, N skipped
#
# Needs root, for chroot and mounts; the mounts are in a separate namespace and disappear at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(realpath "${1:?usage: tools/check-torch2.sh BUILD}")
root=build/debian13
packages=(python3-torch python3-numpy libcairo2 liblzma5 libzstd1 zlib1g)

fail() {
    echo "check-torch2: $*" >&2
    exit 1
}

[ "$(id -u)" = 0 ] || fail "it must be run as root"
command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null || fail "debootstrap is not installed"

# The marker file is written last: an interrupted set-up starts again from the beginning.
if [ ! -e "$root/.is-complete" ]; then
    echo "check-torch2: unpacking Debian 13 into $root"
    rm -rf "$root"
    debootstrap --variant=minbase trixie "$root" >"$root.log" 2>&1 || fail "debootstrap failed; see $root.log"
    chroot "$root" apt-get install -y -qq --no-install-recommends "${packages[@]}" >>"$root.log" 2>&1 ||
        fail "packages could not be installed; see $root.log"
    cp /etc/hosts "$root/etc/hosts"
    touch "$root/.is-complete"
fi
ninja -C "$build" tests/record/liboracle.so >/dev/null

# What runs inside, in its own mount namespace: the tree is at the same path there.
inside() {
    local tree=$1 build=$2 root=$3 name
    mount --make-rprivate /
    mkdir -p "$root$tree"
    mount --bind "$tree" "$root$tree"
    mount -t proc proc "$root/proc"
    mount --bind /dev "$root/dev"
    chroot "$root" /usr/bin/python3 -c \
        'import sys, torch; print("torch", torch.__version__, "python", sys.version.split()[0])'
    for name in run run_command start tags modules oom; do
        echo "--- record/$name"
        chroot "$root" env PYTHONPATH="$tree/tests/lib" OMP_NUM_THREADS=1 /usr/bin/python3 \
            "$tree/tests/record/test_$name.py" "$build/stormlog" \
            $([ "$name" != run ] || echo "$build/tests/record/liboracle.so") || true
    done
    echo "--- hostile, those with torch"
    chroot "$root" env PYTHONPATH="$tree/tests/lib" OMP_NUM_THREADS=1 /usr/bin/python3 "$tree/tests/hostile/test_hostile.py" \
        "$build/stormlog" "$build/tests/hostile" "$build/tests/hook" all torch || true
}
export -f inside
tools/count_tap.sh unshare --mount bash -c 'inside "$@"' inside "$PWD" "$build" "$PWD/$root"
