#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Size, first paint and panning speed of pages of 100,000, 1 M and 10 M events. Argument: build folder.
set -euo pipefail
build=${1:-build}
here=$(dirname "$0")
out=$build/bench/pages
mkdir -p "$out"
ninja -C "$build" bench-programs >/dev/null
pages=()
for events in 100000 1000000 10000000; do
    "$build/bench/bench_page" "$events" "$out/$events.html"
    pages+=("$out/$events.html")
done
if command -v node >/dev/null; then
    node "$here/measure.mjs" "${pages[@]}"
else
    echo "paint and panning skipped: node is not installed"
fi
