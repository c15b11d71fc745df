# SPDX-License-Identifier: MIT
"""Step 6: the saved samples of step 4, judged by the command line; and a replay with memory that no allocator counts."""

import sys

from tracking_helpers import ARTIFACTS, HERE, command, shown

events = ARTIFACTS / "tracker" / "events.json"
if not events.exists():
    sys.exit(f"{shown(events)} is missing: run scripts/04_run_tracker_api.py first")
result = ARTIFACTS / "analysis.txt"
if command("gpumemprof", "analyze", shown(events), "--format", "txt", "--output", shown(result)).returncode:
    sys.exit("gpumemprof analyze failed")

# Where allocator and driver agree (MPS, the CPU) there is no hidden gap to show, so it was saved on an H200.
replay = HERE / "replay" / "hidden_gap.json.gz"
done = command("stormlog", "analyze", shown(replay), capture_output=True, text=True)
print("\n".join(done.stdout.splitlines()[:16]))
if done.returncode or "hidden memory grows" not in done.stdout:
    sys.exit("the hidden gap of the replay was not found")
