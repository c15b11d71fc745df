#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Runs every step in order; output also goes to logs/. Stops at the first step that fails. Uses an installed stormlog, else
# the one that `make` built in this checkout.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
python=${PYTHON:-python3}
if ! command -v stormlog >/dev/null && [ -x ../../build/stormlog ]; then
    PATH=$PWD/../../build:$PATH
    export PYTHONPATH=$PWD/../../build/python${PYTHONPATH:+:$PYTHONPATH}
fi
export PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
mkdir -p artifacts logs
if ! [ -w artifacts ] || ! [ -w logs ]; then
    echo "run_all.sh: cannot write into $PWD; copy the folder to a place of your own" >&2
    exit 1
fi
trap 'printf "\ninterrupted; run_all.sh can be run again\n"; exit 130' INT
for script in scripts/[0-9][0-9]_*.py; do
    printf '\n== %s\n' "$(sed -n '2s/"""\(Step [0-9]*: .*\)/\1/p' "$script" | sed 's/"""$//')"
    printf '$ python3 %s\n' "$script"
    "$python" "$script" 2>&1 | tee "logs/$(basename "$script" .py).log"
done
