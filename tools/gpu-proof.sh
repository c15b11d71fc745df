#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Everything docs/gpu-results.md shows, in one command on a machine with a GPU: the tests that need a device, the cost of a
# training step, and the recordings of tests/data/slog. Argument: a folder for the results (gpu-results.md, slog/*.xz, log).
# Exit status: that of the tests.
set -uo pipefail
mkdir -p "${1:?usage: tools/gpu-proof.sh FOLDER}/slog"
out=$(realpath "$1")
cd "$(dirname "$0")/.."
python=${STORMLOG_TORCH_PYTHON:-$(command -v python3)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tools/check-gpu.sh "$work/tables" >"$work/log" 2>&1
status=$?
tests/data/slog/make.sh build/stormlog "$python" "$out/slog" >"$work/made" 2>&1
ninja -C build bench-programs >"$work/build" 2>&1 || cat "$work/build" >>"$work/made"
timeout "${BENCH_SECONDS:-200}" "$python" bench/record/steps.py build "${BENCH_ROUNDS:-200}" \
    "${BENCH_STEPS:-3}" "${BENCH_START_ROUNDS:-20}" "${BENCH_LARGE_ROUNDS:-40}" >"$work/steps" 2>&1

versions() {
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
    "$python" -c 'import platform, torch; print("torch", torch.__version__, "CUDA", torch.version.cuda,
        "NCCL", ".".join(map(str, torch.cuda.nccl.version())), "Python", platform.python_version())'
    "$python" -c 'import importlib.metadata as m; print(*(f"{n} {m.version(n)}" for n in ("jax", "cupy-cuda13x")))' \
        2>/dev/null
}

{
    echo "# Measured on a real card"
    echo
    echo "Written by \`tools/gpu-proof.sh\`; nothing here is typed by hand."
    echo
    versions | sed 's/^/- /'
    echo
    echo "## The recorder against torch's own counters, and the ledger"
    echo
    echo "\`tools/check-gpu.sh\`: $(tail -n 1 "$work/log")"
    echo
    cat "$work/tables"
    echo
    echo "Context, modules: what the driver counts for the process beyond everything that was seen. Nothing tells it apart"
    echo "from memory nobody saw, so its growth over a bare context has the same limit as the rest, 1 % of the card."
    echo
    echo "## Cost of a training step"
    echo
    echo "\`bench/record/steps.py\`"
    echo
    cat "$work/steps"
} >"$out/gpu-results.md"
cat "$work/log" "$work/made" >"$out/log.txt"
grep -E "^(not ok|#)|FAIL|failed" "$out/log.txt" | head -n 60
cat "$work/made" "$out/gpu-results.md"
for folder in /home/user/train/runs/*; do
    echo "== ${folder##*/}"
    build/stormlog top --top 5 "$folder" 2>&1 | head -n 26
    build/stormlog analyze "$folder"/*.slog 2>&1 | head -n 14
done >"$out/views.txt"
tail -n 1 "$work/log"
exit $status
