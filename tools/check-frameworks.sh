#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Trains with the frameworks people use, in a virtual environment outside the tree, and writes the table of docs/frameworks.md.
#
#   tools/check-frameworks.sh BUILD [NAME…]     last line: N passed, N failed, N skipped
#
#   STORMLOG_FRAMEWORKS   folder of the environment (default: ~/.cache/stormlog/frameworks, 7 GB; kept for the next time)
#   STORMLOG_UPGRADE=1    install the newest releases into an environment that exists
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(realpath "${1:?usage: tools/check-frameworks.sh BUILD [NAME...]}")
shift
folder=${STORMLOG_FRAMEWORKS:-${XDG_CACHE_HOME:-$HOME/.cache}/stormlog/frameworks}
packages=(torch torchvision torch-geometric tensorflow-cpu jax lightning transformers accelerate trl 'ray[train]' \
    ipython ipykernel nbclient tensorboard mlflow wandb pytest mypy)

# The list of packages is written last: an interrupted installation begins again.
if [ "${STORMLOG_UPGRADE:-0}" = 1 ] || [ "$(cat "$folder/.packages" 2>/dev/null)" != "${packages[*]}" ]; then
    echo "check-frameworks: installing ${packages[*]} into $folder"
    [ -x "$folder/bin/python" ] || /usr/bin/python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --upgrade pip
    "$folder/bin/pip" install --quiet --upgrade "${packages[@]}" || {
        echo "check-frameworks: pip could not install them; it needs a network and PyPI" >&2
        exit 4
    }
    echo "${packages[*]}" >"$folder/.packages"
fi
exec "$folder/bin/python" tests/frameworks/check_frameworks.py "$build" "$folder/bin/python" ${1:+--only "$@"}
