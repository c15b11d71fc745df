#!/bin/sh
# SPDX-License-Identifier: MIT
# `stormlog ranks` on fleets made by bench_ranks: time and memory for 1,024 ranks of 100,000 events each and for 8,192 ranks, and
# how often the first cause is right. usage: bench/ranks/run.sh BUILD
#   RANKS_BENCH_DIR   where the fleets are kept between runs (default: a folder that is removed at the end; 4 GB)
#   RANKS_SEEDS       seeds of the faults (default: 11,12,13)
set -eu
build=${1:-build}
here=$(dirname "$0")
python=$(command -v /usr/bin/python3 || command -v python3)
ninja -C "$build" bench/bench_ranks stormlog >/dev/null
if [ -n "${RANKS_BENCH_DIR:-}" ]; then
    work=$RANKS_BENCH_DIR
    mkdir -p "$work"
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi

# name, fault, seed, ranks, steps, events per rank
fleet() {
    if [ ! -f "$work/$1.json" ]; then
        "$build/bench/bench_ranks" "$work/$1" "$2" "$3" "$4" "$5" "$6" >"$work/$1.tmp"
        mv "$work/$1.tmp" "$work/$1.json"
    fi
    "$python" "$here/measure.py" "$build" "$work/$1" "$work/$1.json"
}

fleet large leak 3 1024 1000 104000
fleet wide leak 4 8192 400 4000
"$python" "$here/score.py" "$build" --seeds "${RANKS_SEEDS:-11,12,13}" --ranks 32
"$python" "$here/score.py" "$build" --seeds "${RANKS_SEEDS:-11,12,13}" --ranks 6 --steps 80
