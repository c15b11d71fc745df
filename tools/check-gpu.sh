#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds and runs everything that needs a real device, on a machine with gcc, meson, ninja, and a Python with torch.
# Ends with the table of what torch and the recorder counted, and one line: N passed, N failed, N skipped.
# Argument: a file for the table (default: only shown).
set -uo pipefail
cd "$(dirname "$0")/.."
table=$(mktemp)
log=$(mktemp)
trap 'rm -f "$table" "$log"' EXIT

STORMLOG_NO_SETUP=1 make -s test-build || exit 1
STORMLOG_GPU_TABLE=$table STORMLOG_NO_SETUP=1 make -s check-gpu >"$log" 2>&1
status=$?
cat "$log"
echo
cat "$table"
[ $# -ge 1 ] && cp "$table" "$1"
tail -n 1 "$log"
exit $status
