#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Reads a generated snapshot with us and with Python, alternating, and prints the ratio of the medians:
#   make bench-snapshot             1,000,000 events
#   make bench-snapshot N=20000000  more; Python is skipped above 4,000,000, where it would run out of memory
#   make bench-snapshot REPEATS=9
set -euo pipefail
build=${1:?usage: bench/snapshot/run.sh BUILD}
here=$(dirname "${BASH_SOURCE[0]}")
n=${N:-1000000}
file=$build/bench-data/snapshot-$n.pickle
python=/usr/bin/python3
[ -x "$python" ] || python=python3

mkdir -p "$build/bench-data"
if [ ! -f "$file" ] || [ "$here/gen.py" -nt "$file" ]; then
    echo "bench-snapshot: writing $file"
    "$python" "$here/gen.py" "$n" "$file.part"
    mv "$file.part" "$file"
fi
exec "$python" "$here/compare.py" "$build" "$file" "${REPEATS:-5}"
