#!/bin/sh
# SPDX-License-Identifier: MIT
# Cost of one event, and bytes per event on real data. usage: bench/log/run.sh BUILD
set -eu
build=${1:-build}
here=$(dirname "$0")
python=$(command -v /usr/bin/python3 || command -v python3)
ninja -C "$build" bench/bench_log >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/bench/bench_log" "$work"
echo
printf '%-28s %8s %8s %8s %8s %8s\n' 'bytes per event' events raw 'zstd -3' 'zstd -9' 'zstd -19'
for snapshot in "$here"/../../tests/data/h200/*.pickle.gz; do
    events=$("$python" "$here/events.py" "$snapshot" "$work/events")
    "$build/bench/bench_log" "$work" "$work/events" "$work/ring"
    set -- "$events" "$(wc -c <"$work/ring")"
    for level in 3 9 19; do
        set -- "$@" "$(zstd -q -$level -c "$work/ring" | wc -c)"
    done
    printf '%s\n' "$@" | "$python" -c "
import sys
events, *sizes = map(int, sys.stdin)
print('%-28s %8d' % ('$(basename "$snapshot" .pickle.gz)', events), *('%8.2f' % (size / events) for size in sizes))"
done
