#!/bin/sh
# SPDX-License-Identifier: MIT
# Sizes of recordings before and after `stormlog compact`, and bytes per event: the events of the seven snapshots of an H200,
# the recordings of an H200 in tests/data/slog, and a training on the CPU. usage: bench/compact/run.sh BUILD
set -eu
build=${1:-build}
here=$(dirname "$0")
data=$here/../../tests/data
python=$(command -v /usr/bin/python3 || command -v python3)
ninja -C "$build" bench/bench_log stormlog >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
set --
for snapshot in "$data"/h200/*.pickle.gz; do
    name=$(basename "$snapshot" .pickle.gz)
    "$python" "$here/../log/events.py" "$snapshot" "$work/events" >/dev/null
    "$build/bench/bench_log" "$work" "$work/events" "$work/ring" "$work/$name.slog"
    set -- "$@" "$name=$work/$name.slog=$(gzip -dc "$snapshot" | wc -c)"
done
for packed in "$data"/slog/*.slog.xz; do
    name=$(basename "$packed" .slog.xz)
    xz -dc "$packed" >"$work/$name.slog"
    set -- "$@" "$name=$work/$name.slog"
done
if "$python" -c 'import torch' 2>/dev/null; then
    "$build/stormlog" run -q --no-compact -o "$work/train" -- "$python" "$here/train.py" 300
    set -- "$@" "transformer, CPU=$(ls "$work"/train/*.slog)"
fi
"$python" "$here/table.py" "$build/stormlog" "$@"
