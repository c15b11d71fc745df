#!/bin/sh
# SPDX-License-Identifier: MIT
# The full-screen program: how soon a recording and snapshots of 10 M events are on the screen, bytes sent per second,
# CPU share, resident memory. usage: bench/tui/run.sh BUILD; EVENTS= another number of events, SECONDS_EACH= how long a screen is watched
set -eu
build=${1:-build}
python=$(command -v /usr/bin/python3 || command -v python3)
ninja -C "$build" bench/bench_tui bench/bench_page >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" "$(dirname "$0")/measure.py" "$build" "$work" "${EVENTS:-10000000}" "${SECONDS_EACH:-20}"
