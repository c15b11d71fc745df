#!/bin/sh
# SPDX-License-Identifier: MIT
# Predictions of `stormlog whatif` against real trainings on an H200. Argument: the build folder. No card is needed: the real
# peaks are stored.
set -eu
build=${1:-build}
exec python3 "$(dirname "$0")/score_card.py" "$build/stormlog"
