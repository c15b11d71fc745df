# SPDX-License-Identifier: MIT
"""Events of a snapshot of our own (tests/data/h200) as rows for bench_log: what the recorder's hook would have seen of that
run. Snapshots have microseconds; the nanoseconds below them are random, as they are in reality.

usage: events.py SNAPSHOT OUT      prints the number of events
"""

import gzip
import pickle
import random
import struct
import sys

# By what the hook sees: an alloc, and a free when the block becomes reusable.
KINDS = {"alloc": 1, "free_completed": 2, "segment_alloc": 5, "segment_free": 6, "segment_map": 7, "segment_unmap": 8}

with gzip.open(sys.argv[1]) as file:
    snapshot = pickle.load(file)
random.seed(1)
stacks, rows = {}, []
for event in max(snapshot["device_traces"], key=len):
    if event["action"] in KINDS:
        key = tuple((frame["filename"], frame["line"], frame["name"]) for frame in event.get("frames", []))
        rows.append((event["time_us"] * 1000 + random.randrange(1000), event["addr"], event["size"],
                     stacks.setdefault(key, len(stacks)), KINDS[event["action"]]))
rows.sort(key=lambda row: row[0])
start = rows[0][0] - 1
with open(sys.argv[2], "wb") as out:
    for time, addr, size, stack, kind in rows:
        out.write(struct.pack("<QQQII", time - start, addr, size, stack, kind))
print(len(rows))
