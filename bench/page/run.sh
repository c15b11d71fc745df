#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Size, first paint and panning speed of pages of 100,000, 1 M and 10 M events and of 512 ranks, and the same snapshots in
# PyTorch's own viewer if it is available. Argument: build folder.
#
#   STORMLOG_VIEWER=FILE      torch/utils/viz/MemoryViz.js of a PyTorch; without it the viewer is not measured
#   STORMLOG_VIEWER_EVENTS    events of the snapshots for that (default: "100000 1000000")
#   STORMLOG_VIEWER_LIMIT_S   how long a viewer may take, in seconds (default: 300)
set -euo pipefail
build=${1:-build}
here=$(dirname "$0")
out=$build/bench/pages
mkdir -p "$out"
ninja -C "$build" bench-programs >/dev/null
if ! command -v node >/dev/null; then
    echo "paint and panning skipped: node is not installed"
    exit 0
fi

pages=()
for events in 100000 1000000 10000000; do
    "$build/bench/bench_page" "$events" "$out/$events.html"
    pages+=("$out/$events.html")
done
python3 "$here/../../tests/web/make_inputs.py" "$out/ranks" 512
"$build/stormlog" report "$out"/ranks/*.pickle -o "$out/512-ranks.html"
node "$here/measure.mjs" "${pages[@]}" "$out/512-ranks.html"

if [ ! -f "${STORMLOG_VIEWER:-}" ]; then
    echo "not measured beside PyTorch's viewer: STORMLOG_VIEWER names no MemoryViz.js"
    exit 0
fi
d3=$(mktemp -d)
trap 'rm -rf "$d3"' EXIT
if ! npm install --prefix "$d3" --no-audit --no-fund --loglevel=error d3@7 >/dev/null 2>&1; then
    echo "not measured beside PyTorch's viewer: npm could not install d3, which it needs"
    exit 0
fi
snapshots=()
for events in ${STORMLOG_VIEWER_EVENTS:-100000 1000000}; do
    "$build/bench/bench_page" "$events" "$out/$events.html" "$out/$events.pickle" >/dev/null
    snapshots+=("$out/$events.pickle")
done
node "$here/viewer.mjs" "$build/stormlog" "$d3" "${snapshots[@]}"
