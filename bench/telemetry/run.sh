#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Analysis of telemetry: ours at 200,000 records and beyond (linear?), and beside it the Python tool where STORMLOG_PEER
# names its checkout (a folder with stormlog/ in it; needs numpy, scipy, psutil, pandas, torch). The Python tool is measured
# at STORMLOG_PEER_RECORDS (4,000: seconds), and the ratio is given for the same file; set it to 200000 to compare at full size,
# which takes many minutes, because the Python tool's time grows with the square of the records.
# SIZES: record counts of ours.
set -euo pipefail
build=${1:?usage: bench/telemetry/run.sh BUILD}
sizes=${SIZES:-"200000 1000000 2000000"}
peer_records=${STORMLOG_PEER_RECORDS:-4000}
folder=$(mktemp -d "${TMPDIR:-/tmp}/bench-telemetry.XXXXXX")
trap 'rm -rf "$folder"' EXIT
bench=$build/bench/bench_telemetry

median() { sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
seconds() { local t0 t1; t0=$(date +%s.%N); "$@" >/dev/null; t1=$(date +%s.%N); echo "$t1 - $t0" | bc -l; }

echo "ours, one run each:"
for size in $sizes; do
    "$bench" write "$size" "$folder/records.json"
    "$bench" read "$folder/records.json"
    rm "$folder/records.json"
done

if [ -z "${STORMLOG_PEER:-}" ]; then
    echo "the Python tool: not measured; STORMLOG_PEER names no checkout of it"
    exit 0
fi
"$bench" write "$peer_records" "$folder/records.json"
ours=$(for _ in 1 2 3 4 5; do seconds "$build/gpumemprof" analyze "$folder/records.json"; done | median)
theirs=$(PYTHONPATH=$STORMLOG_PEER seconds "${STORMLOG_PEER_PYTHON:-python3}" -m stormlog.cli analyze "$folder/records.json")
startup=$(PYTHONPATH=$STORMLOG_PEER seconds "${STORMLOG_PEER_PYTHON:-python3}" -c 'import stormlog.cli, stormlog.analyzer')
echo "$peer_records records, whole command: ours $ours s (median of 5), the Python tool $theirs s (of which imports $startup s)," \
     "ratio $(echo "$theirs / $ours" | bc -l | cut -c1-8)"
