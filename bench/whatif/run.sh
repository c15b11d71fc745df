#!/bin/sh
# SPDX-License-Identifier: MIT
# How exact the replay of PyTorch's allocator is, and how fast. Argument: the build folder. N=100000 make bench-whatif: fewer events.
set -eu
build=${1:-build}
here=$(dirname "$0")
python3 "$here/score.py" "$build/bench/bench_whatif"
echo
exec "$build/bench/bench_whatif" --stress "${N:-10000000}"
