#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The cost of recording: per event, per training step, and for a scan of an optimizer. Argument: the build folder.
# STORMLOG_TORCH_PYTHON may name the interpreter with torch.
set -euo pipefail
build=$(cd "${1:?usage: bench/record/run.sh BUILD_FOLDER}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
python=${STORMLOG_TORCH_PYTHON:-$(command -v /usr/bin/python3 || command -v python3)}

"$python" "$here/events.py" "$build" "${BENCH_RUNS:-7}" "${BENCH_EVENTS:-2000000}"
echo
if "$python" -c 'import torch' 2>/dev/null; then
    "$python" "$here/steps.py" "$build" "${BENCH_ROUNDS:-200}" "${BENCH_STEPS:-3}" "${BENCH_START_ROUNDS:-20}" \
        "${BENCH_LARGE_ROUNDS:-40}"
    echo
    "$python" "$here/tags.py" "$build/stormlog"
else
    echo "no torch for $python: training steps were not measured"
fi
