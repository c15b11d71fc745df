#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds and runs everything that needs a real device, on a machine with gcc, meson, ninja, and a Python with torch.
# Ends with what torch and the recorder counted, the ledger of the card, frameworks, what the examples print, and one line: N passed,
# N failed, N skipped. Argument: a file for the tables (default: only shown). T in the environment: some tests only, as for
# `make check-gpu`.
set -uo pipefail
cd "$(dirname "$0")/.."
counts=$(mktemp)
ledger=$(mktemp)
frameworks=$(mktemp)
examples=$(mktemp)
log=$(mktemp)
trap 'rm -f "$counts" "$ledger" "$frameworks" "$examples" "$log"' EXIT

STORMLOG_NO_SETUP=1 make -s test-build || exit 1
STORMLOG_GPU_TABLE=$counts STORMLOG_GPU_LEDGER=$ledger STORMLOG_GPU_FRAMEWORKS=$frameworks STORMLOG_GPU_EXAMPLES=$examples \
    STORMLOG_NO_SETUP=1 make -s check-gpu 2>&1 | tee "$log"
status=$?
echo
{
    cat "$counts"
    echo
    cat "$ledger"
    echo
    echo "Frameworks, bytes: the leak of each is found at its line; live before: what torch held when the recording was started."
    echo
    cat "$frameworks"
} | tee ${1:+"$1"}
cat "$examples"
echo
tail -n 1 "$log"
exit $status
