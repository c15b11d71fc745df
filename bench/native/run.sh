#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What a native stack of 25 frames costs, beside the C++ runtime's own walk. Argument: the build folder.
set -euo pipefail
build=$(cd "${1:?usage: bench/native/run.sh BUILD_FOLDER}" && pwd)
"$build/bench/bench_native" 20 "${BENCH_EVENTS:-20000}" "${BENCH_RUNS:-7}"
