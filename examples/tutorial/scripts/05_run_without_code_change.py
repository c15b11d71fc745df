# SPDX-License-Identifier: MIT
"""Step 5: the same leak with no change to the program: `stormlog run` records every allocation with its line of code."""

import sys

from tracking_helpers import ARTIFACTS, command, fresh_folder, shown
from training_job import pick_device

# On a card also what the allocator does below the tensors: script 10 replays it.
REPLAY = ["--replay"] if pick_device().type == "cuda" else []
folder = fresh_folder("no_code_change")
script = ARTIFACTS.parent / "scripts" / "training_job.py"
done = command("stormlog", "run", *REPLAY, "-o", shown(folder), "--", sys.executable, shown(script), "leak")
if done.returncode:
    sys.exit(f"the training failed with exit code {done.returncode}")
done = command("stormlog", "analyze", shown(folder), capture_output=True, text=True)
print(done.stdout.split("\n\n2. ")[0])  # the first finding
if "retention.py" not in done.stdout:
    sys.exit("the report does not name the line of the leak")
