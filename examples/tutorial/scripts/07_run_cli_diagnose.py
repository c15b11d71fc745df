# SPDX-License-Identifier: MIT
"""Step 7: the machine and its environment as a folder to attach to an issue."""

import sys

from tracking_helpers import ARTIFACTS, command, shown

folder = ARTIFACTS / "diag"
# 2 means: written, and memory is at risk on this machine.
if command("gpumemprof", "diagnose", "--duration", "0", "--output", shown(folder)).returncode not in (0, 2):
    sys.exit("gpumemprof diagnose failed")
for path in sorted(folder.rglob("*")):
    if path.is_file():
        print(f"  {shown(path)}  {path.stat().st_size} bytes")
