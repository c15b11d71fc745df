#!/bin/sh
# SPDX-License-Identifier: MIT
# Lead time, precision and recall of the time to out of memory over labelled and made-up runs. Argument: the build folder.
set -eu
build=${1:-build}
exec python3 "$(dirname "$0")/score.py" "$build/bench/bench_forecast"
