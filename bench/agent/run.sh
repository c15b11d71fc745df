#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What `stormlog agent` costs: resident memory, processor time and bytes on the wire, with 16 recordings and with 1,024 ranks at
# 1 Hz, pushed to a real VictoriaMetrics (tools/fetch_servers.sh), else to a sink that only counts.
#
#   bench/agent/run.sh BUILD      AGENT_SECONDS=60 for each part
set -euo pipefail
build=$1
ninja -C "$build" tests/agent/agent_fleet >/dev/null
tools/fetch_servers.sh "$build"
PYTHONPATH=tests/lib:tests/agent exec /usr/bin/python3 bench/agent/measure_agent.py "$build/stormlog" \
    "$build/tests/agent/agent_fleet" "$build"
