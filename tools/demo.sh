#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Shows what the program does, on this machine, from a fresh build. Argument: the build folder.
set -euo pipefail
build=${1:?usage: tools/demo.sh BUILD_FOLDER}

# Prints the command as a person would type it, then runs it.
show() {
    printf '\n$ %s\n' "$*"
    "$@"
}

show "$build/stormlog" info
