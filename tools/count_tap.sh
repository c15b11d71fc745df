#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Runs a command that prints TAP, shows what it prints, and ends with one line: N passed, N failed, N skipped.
#
#   tools/count_tap.sh COMMAND...
set -euo pipefail
out=$(mktemp)
trap 'rm -f "$out"' EXIT
"$@" 2>&1 | tee "$out" || true
awk '/^ok .*# SKIP/ { skipped++; next } /^ok / { passed++ } /^not ok / { failed++ }
     END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped; exit failed > 0 || passed == 0 }' "$out"
