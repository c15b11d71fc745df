#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Installs the Debian packages that `make test` and `make demo` need. Asking dpkg costs a few
# milliseconds, so both targets call this first every time; nothing happens when nothing is missing.
# The build alone needs only a C compiler, meson and ninja and does not call this.
#
#   STORMLOG_NO_SETUP=1   skip: continue with what is installed (tests report what they skip)
#
# Exit status: 0 everything is there (or skipped), 1 something is missing and could not be installed.
set -euo pipefail

# package               the one thing it is needed for
PACKAGES='
gcc                     compiler
g++                     header-tests
libc6-dev               libc
make                    front-door
meson                   build
ninja-build             build
pkg-config              build
zlib1g-dev              gzip-input
libzstd-dev             zstd-input
liblzma-dev             xz-input
libcairo2-dev           pictures
libncurses-dev          full-screen
libcurl4-openssl-dev    http-client
libmicrohttpd-dev       http-server
libsnappy1v5            remote-write
fonts-dejavu-core       pictures
protobuf-compiler       export-tests
libcmocka-dev           unit-tests
openmpi-bin             launcher-tests
python3                 test-runner
python3-build           wheel-tests
python3-dev             python-extension
python3-ipython         notebook-tests
python3-numpy           torch
python3-pip             wheel-tests
python3-pytest          plugin-tests
python3-setuptools      wheel-tests
python3-torch           recorder-tests
python3-venv            wheel-tests
python3-wheel           wheel-tests
clang                   fuzzing
libclang-rt-14-dev      fuzzing
clang-format            lint
cppcheck                lint
binutils                symbol-tests
tmux                    full-screen-tests
screen                  full-screen-tests
mosh                    full-screen-tests
chromium                page-tests
zstd                    test-data
xz-utils                test-data
'

# Prints the packages of the table that are not fully installed, in one dpkg-query call.
missing_packages() {
    local wanted installed
    wanted=$(awk 'NF { print $1 }' <<<"$PACKAGES" | sort)
    # dpkg-query fails when it does not know one of the names; the names it knows are still printed.
    # shellcheck disable=SC2086
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null |
        awk '$1 == "installed" { print $2 }' | sort -u || true)
    comm -23 <(echo "$wanted") <(echo "$installed")
}

# The page's tests need Node. Any Node is enough, so Debian's packages are installed only if there is none.
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    PACKAGES+='nodejs                  page-tests
npm                     page-tests
'
fi

# The page's tools (web/package-lock.json), installed again when the list changed. A failure is not fatal: what they build is
# checked in, and the tests that need them report that they were skipped.
install_web_tools() {
    local root stamp
    root=$(cd "$(dirname "$0")/.." && pwd)
    stamp=$root/web/node_modules/.package-lock.json
    if [ ! -f "$root/web/package-lock.json" ] || [ "$stamp" -nt "$root/web/package-lock.json" ]; then
        return
    fi
    echo "setup: installing the page's tools (web/package-lock.json)"
    if (cd "$root/web" && npm ci --no-audit --no-fund --loglevel=error >/dev/null 2>&1); then
        touch "$stamp"
    else
        echo "setup: npm could not install them; the page's tests will be skipped" >&2
    fi
}

# Prints the same explanation whatever prevented the installation.
refuse() {
    local reason=$1
    {
        echo "setup: cannot install the missing packages: $reason."
        echo "setup: missing: $(describe)"
        echo "setup: ask someone who may, to run:"
        echo "setup:   apt-get update && apt-get install --no-install-recommends ${missing[*]}"
        echo "setup: or go on without them: STORMLOG_NO_SETUP=1 make test (what needs them is skipped and named)"
    } >&2
    exit 1
}

# "meson (build), libcmocka-dev (unit-tests)"
describe() {
    local package text=''
    for package in "${missing[@]}"; do
        text+="${text:+, }$package ($(awk -v p="$package" '$1 == p { print $2 }' <<<"$PACKAGES"))"
    done
    echo "$text"
}

apt() {
    # Two checkouts may be set up at the same moment: wait for the other one's lock instead of failing.
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 "$@"
}

if [ "${STORMLOG_NO_SETUP:-0}" = 1 ]; then
    exit 0
fi
if ! command -v dpkg-query >/dev/null; then
    mapfile -t missing < <(awk 'NF { print $1 }' <<<"$PACKAGES")
    refuse "this is not a Debian system, so this script cannot tell what is missing"
fi

mapfile -t missing < <(missing_packages)
if [ "${#missing[@]}" -eq 0 ]; then
    install_web_tools
    exit 0
fi

if [ "$(id -u)" -eq 0 ]; then
    as_root=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo)
else
    refuse "not root, and sudo would ask for a password or is not there"
fi

echo "setup: installing $(describe)"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The existing package lists are usually good enough; a new machine has none, and old lists name files that no longer exist.
# Hence: try, refresh, try again.
if ! apt install --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
    if ! apt update >"$log" 2>&1 || ! apt install --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        refuse "apt-get failed, its last lines are above"
    fi
fi

mapfile -t missing < <(missing_packages)
[ "${#missing[@]}" -eq 0 ] || refuse "apt-get reported success, yet they are still not installed"
install_web_tools
echo "setup: done"
