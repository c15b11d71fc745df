# SPDX-License-Identifier: MIT
"""Compacts recordings one by one and prints a row for each: size as written and afterwards, bytes per event, time, and how
many times larger the same events are as a snapshot's pickle, where there is one.

usage: table.py STORMLOG NAME=RECORDING[=PICKLE_BYTES] ...
"""

import json
import os
import subprocess
import sys
import time

stormlog, *inputs = sys.argv[1:]
print(f"{'recording':<28} {'events':>9} {'by ls -l':>13} {'on disk':>11} {'compact':>10} {'bytes/event':>11} {'seconds':>8} "
      f"{'x ls -l':>9} {'x pickle':>8}")
for text in inputs:
    name, path, *pickle = text.split("=")
    events = json.loads(subprocess.run([stormlog, "fsck", "--format", "json", path], check=True, stdout=subprocess.PIPE).stdout)["events"]
    before = os.stat(path)
    start = time.monotonic()
    subprocess.run([stormlog, "compact", path], check=True, stdout=subprocess.DEVNULL)
    seconds, size = time.monotonic() - start, os.stat(path).st_size
    ratio = f"{int(pickle[0]) / size:8.0f}" if pickle else f"{'-':>8}"
    print(f"{name:<28} {events:>9,} {before.st_size:>13,} {before.st_blocks * 512:>11,} {size:>10,} {size / events:>11.2f} "
          f"{seconds:>8.2f} {before.st_size / size:>9.0f} {ratio}")
