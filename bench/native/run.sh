#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The cost of a native stack of 25 frames, compared with the C++ runtime's own stack walk. Argument: the build folder.
set -euo pipefail
build=$(cd "${1:?usage: bench/native/run.sh BUILD_FOLDER}" && pwd)
"$build/bench/bench_native" 20 "${BENCH_EVENTS:-20000}" "${BENCH_RUNS:-7}"
