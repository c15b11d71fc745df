#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Everything docs/gpu-results.md shows, in one command on a machine with a GPU: the tests that need a device, the cost of a
# training step, and the recordings of tests/data/slog. Arguments: a folder for the results (gpu-results.md, slog/*.xz, log.txt),
# then the parts wanted (default: tests recordings cost forecast page). Each part writes its results to the folder at once, so on a
# machine with a time limit the parts can run one by one; `page` needs the results of the others.
# Exit status: that of the tests.
set -uo pipefail
mkdir -p "${1:?usage: tools/gpu-proof.sh FOLDER [tests|recordings|cost|forecast|page]...}/slog"
out=$(realpath "$1")
shift
parts=" ${*:-tests recordings cost forecast page} "
cd "$(dirname "$0")/.."
python=${STORMLOG_TORCH_PYTHON:-$(command -v python3)}
status=0

is_wanted() { [[ $parts == *" $1 "* ]]; }

versions() {
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
    "$python" -c 'import platform, torch; print("torch", torch.__version__, "CUDA", torch.version.cuda,
        "NCCL", ".".join(map(str, torch.cuda.nccl.version())), "Python", platform.python_version())'
    "$python" -c 'import importlib.metadata as m; print(*(f"{n} {m.version(n)}" for n in ("jax", "cupy-cuda13x")))' \
        2>/dev/null
}

show_runs() {
    for folder in /home/user/train/runs/*; do
        echo "== ${folder##*/}"
        build/stormlog top --top 5 "$folder" 2>&1 | head -n 26
        build/stormlog analyze "$folder"/*.slog 2>&1 | head -n 14
    done
}

if is_wanted tests; then
    versions >"$out/versions"
    tools/check-gpu.sh "$out/tables" >"$out/log.txt" 2>&1
    status=$?
    grep -E "^(not ok|#)|FAIL|failed" "$out/log.txt" | head -n 60
fi
if is_wanted recordings; then
    tests/data/slog/make.sh build/stormlog "$python" "$out/slog" | tee "$out/recordings.txt"
    show_runs >"$out/views.txt"
fi
if is_wanted cost; then
    ninja -C build bench-programs >"$out/build.txt" 2>&1 || cat "$out/build.txt"
    timeout "${BENCH_SECONDS:-200}" "$python" bench/record/steps.py build "${BENCH_ROUNDS:-200}" \
        "${BENCH_STEPS:-3}" "${BENCH_START_ROUNDS:-20}" "${BENCH_LARGE_ROUNDS:-40}" >"$out/steps" 2>&1
fi
if is_wanted forecast; then
    "$python" bench/forecast/gpu.py build/stormlog "$out/forecast.json" >"$out/forecast" 2>&1
fi
is_wanted page || exit $status
{
    echo "# Measured on a real card"
    echo
    echo "Written by \`tools/gpu-proof.sh\`; no figure of a table is typed by hand."
    echo
    sed 's/^/- /' "$out/versions"
    echo
    echo "## The recorder against torch's own counters, and the ledger"
    echo
    echo "\`tools/check-gpu.sh\`: $(tail -n 1 "$out/log.txt")"
    echo
    cat "$out/tables"
    echo
    echo "Context, modules: what the driver counts for the process beyond everything that was seen. Nothing tells it apart"
    echo "from memory nobody saw, so its growth over a bare context has the same limit as the rest, 1 % of the card."
    echo
    echo "## Cost of a training step"
    echo
    echo "\`bench/record/steps.py\`"
    echo
    cat "$out/steps"
    echo
    echo "## Time to out of memory"
    echo
    echo "\`bench/forecast/gpu.py\`: the programs of \`bench/forecast/programs.py\` under \`stormlog run\`, at the same time,"
    echo "each with 4.5 % of the card as its limit; \`card\` fills all of it beside \`neighbour\`."
    echo
    cat "$out/forecast"
} >"$out/gpu-results.md"
cat "$out/gpu-results.md"
tail -n 1 "$out/log.txt"
exit $status
