#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Fuzzes with libFuzzer: tools/fuzz.sh SECONDS [NAME...], each target for SECONDS. New inputs gather in build-fuzz/corpus;
# an input that crashes is left there as crash-*, to be copied into tests/fuzz/corpus/<name>/ together with the fix.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:?usage: tools/fuzz.sh SECONDS [NAME...]}
shift

command -v clang >/dev/null || { echo "fuzz: clang is not installed (tools/setup.sh installs it)" >&2; exit 1; }
[ -f build-fuzz/build.ninja ] || CC=clang meson setup build-fuzz --buildtype=debugoptimized \
    -Dlibfuzzer=true -Db_sanitize=address,undefined -Db_lundef=false -Dwerror=false >/dev/null
ninja -C build-fuzz

ran=0
for program in build-fuzz/tests/fuzz/fuzz_*; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    name=${program##*/fuzz_}
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    found=build-fuzz/corpus/$name
    mkdir -p "$found"
    dictionary=()
    [ ! -f "tests/fuzz/$name.dict" ] || dictionary=("-dict=tests/fuzz/$name.dict")
    echo "fuzz: $name for $seconds s"
    "$program" "${dictionary[@]}" -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$found/" \
        "$found" "tests/fuzz/corpus/$name"
    ran=$((ran + 1))
done
echo "fuzz: $ran targets, nothing found"
