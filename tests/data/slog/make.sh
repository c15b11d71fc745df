#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes the recordings of this folder anew, on a machine with a GPU. Arguments: the program stormlog, a Python with torch
# and JAX, the folder for the results. The programs run from a folder of their own, so that their paths say nothing
# about whose machine it was.
set -euo pipefail
stormlog=$(realpath "${1:?usage: make.sh STORMLOG PYTHON OUTPUT}")
python=${2:?}
output=$(realpath "${3:?}")
here=$(cd "$(dirname "$0")" && pwd)
train=/home/user/train
mkdir -p "$train"
cp "$here"/programs/*.py "$train"
cd "$train"

make_one() { # name, program, environment...
    local name=$1 program=$2
    shift 2
    rm -rf "runs/$name"
    env "$@" "$stormlog" run -q -o "runs/$name" --no-compact --ring 2MiB -- "$python" "$program" >"$name.log" 2>&1
    echo "$name: exit code $?, $(ls runs/"$name")"
    "$python" -c 'import lzma, sys; sys.stdout.buffer.write(lzma.compress(sys.stdin.buffer.read(), preset=6))' \
        <"$(ls runs/"$name"/*.slog)" >"$output/$name.slog.xz"
}
set +e
make_one leak leak.py
make_one oom oom.py
make_one nccl nccl.py
make_one expandable expandable.py PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True PYTORCH_ALLOC_CONF=expandable_segments:True
make_one jax jax_arrays.py
