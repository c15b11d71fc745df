# SPDX-License-Identifier: MIT
"""Step 6: the saved samples of step 4, judged by the command line; then memory that no allocator counts."""

import subprocess
import sys

from tracking_helpers import ARTIFACTS, HERE, command, shown
from training_job import pick_device

events = ARTIFACTS / "tracker" / "events.json"
if not events.exists():
    sys.exit(f"{shown(events)} is missing: run scripts/04_run_tracker_api.py first")
result = ARTIFACTS / "analysis.txt"
if command("gpumemprof", "analyze", shown(events), "--format", "txt", "--output", shown(result)).returncode:
    sys.exit("gpumemprof analyze failed")

# Memory that a library takes past PyTorch is no one's tensor: the driver counts it, the allocator does not. Where the two agree
# (MPS, the CPU) there is no such gap to show, so a saved one is read; its figures are made up.
replay = HERE / "replay" / "hidden_gap.json.gz"
if pick_device().type == "cuda":
    replay = ARTIFACTS / "hidden_gap.json.gz"
    subprocess.run([sys.executable, HERE / "replay" / "record_hidden_gap.py", replay], check=True)
done = command("stormlog", "analyze", shown(replay), capture_output=True, text=True)
print("\n".join(done.stdout.splitlines()[:16]))
if done.returncode or "hidden memory grows" not in done.stdout:
    sys.exit("the hidden gap was not found")
