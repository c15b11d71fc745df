#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Fuzzes with libFuzzer: tools/fuzz.sh SECONDS [NAME...], each target for SECONDS, or, with FUZZ_MINUTES in the
# environment, all of them together for that many minutes. New inputs are collected in build-fuzz/corpus; an input that crashes
# is left there as crash-*, to be copied into tests/fuzz/corpus/<name>/ together with the fix. After a target finds something,
# the others still run for their time. The last lines say how often each one ran.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:?usage: tools/fuzz.sh SECONDS [NAME...]}
shift

command -v clang >/dev/null || { echo "fuzz: clang is not installed (tools/setup.sh installs it)" >&2; exit 1; }
[ -f build-fuzz/build.ninja ] || CC=clang meson setup build-fuzz --buildtype=debugoptimized \
    -Dlibfuzzer=true -Db_sanitize=address,undefined -Db_lundef=false -Dwerror=false >/dev/null
ninja -C build-fuzz

# The build ends at the first finding (-fno-sanitize-recover=all); this option covers libraries built without that flag too.
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export LSAN_OPTIONS=suppressions=tests/cli/lsan_fonts.supp:print_suppressions=0

programs=()
for program in build-fuzz/tests/fuzz/fuzz_*; do
    name=${program##*/fuzz_}
    [ -f "$program" ] && [ -x "$program" ] || continue
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    programs+=("$program")
done
[ ${#programs[@]} -gt 0 ] || { echo "fuzz: no target is called '$*'" >&2; exit 1; }
[ -z "${FUZZ_MINUTES:-}" ] || seconds=$((FUZZ_MINUTES * 60 / ${#programs[@]}))

summary=()
failed=0
for program in "${programs[@]}"; do
    name=${program##*/fuzz_}
    found=build-fuzz/corpus/$name log=build-fuzz/$name.log
    mkdir -p "$found"
    dictionary=()
    [ ! -f "tests/fuzz/$name.dict" ] || dictionary=("-dict=tests/fuzz/$name.dict")
    echo "fuzz: $name for $seconds s"
    result="nothing found"
    "$program" "${dictionary[@]}" -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$found/" \
        "$found" "tests/fuzz/corpus/$name" 2>&1 | tee "$log" || { result="FOUND SOMETHING, see $log"; failed=1; }
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    summary+=("fuzz: $name: ${runs:-0} runs in $seconds s, $result")
done
printf '%s\n' "${summary[@]}"
exit $failed
