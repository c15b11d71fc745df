#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Fetches the servers that the agent's tests push to: victoria-metrics and prometheus (with promtool) from Debian, unpacked
# below the build folder and never installed, because Debian starts them as services. Nothing happens when they are there.
#
#   tools/fetch_servers.sh BUILD      into BUILD/servers
#
# Exit status: 0, also when they cannot be had: the tests then say that they skip. STORMLOG_NO_SETUP=1 skips.
set -euo pipefail

PACKAGES='victoria-metrics prometheus'
servers=$1/servers

if [ "${STORMLOG_NO_SETUP:-0}" = 1 ] || [ -e "$servers/.complete" ]; then
    exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
    echo "servers: not a Debian system; the agent's tests with real servers will be skipped" >&2
    exit 0
fi

# Beside the folder first, so that what is there is whole.
work=$(mktemp -d "$1/servers.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "servers: fetching $PACKAGES"
# shellcheck disable=SC2086
if ! (cd "$work" && timeout 120 apt-get -q download $PACKAGES >log 2>&1); then
    tail -n 3 "$work/log" >&2
    echo "servers: cannot be fetched; the agent's tests with real servers will be skipped" >&2
    exit 0
fi
mkdir "$work/root"
for package in "$work"/*.deb; do
    dpkg -x "$package" "$work/root"
done
rm -rf "$servers"
mkdir "$servers"
mv "$work/root/usr" "$servers/usr"
touch "$servers/.complete"
