#!/bin/sh
# SPDX-License-Identifier: MIT
# Precision and recall of the findings over the labelled runs, and the speed of the analysis. Argument: the build folder.
set -eu
build=${1:-build}
exec python3 "$(dirname "$0")/score.py" "$build/bench/bench_findings" "$build/stormlog"
