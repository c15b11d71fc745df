# SPDX-License-Identifier: MIT
"""Made hidden_gap.json.gz on an H200: the tracker samples while memory is taken that PyTorch's allocator does not know.

    python3 replay/record_hidden_gap.py OUTPUT.json.gz
"""

import ctypes
import gzip
import sys
import tempfile
import time

import torch
from stormlog import MemoryTracker

MIB = 1024 ** 2
cuda = ctypes.CDLL("libcuda.so.1")

kept = torch.ones(256 * MIB // 4, device="cuda")
tracker = MemoryTracker(sampling_interval=0.05, enable_alerts=False, job_id="hidden-gap")
with tracker:
    for _ in range(80):
        address = ctypes.c_uint64()
        if cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(256 * MIB)):
            sys.exit("cuMemAlloc failed")
        kept.add_(1.0)
        time.sleep(0.05)
with tempfile.NamedTemporaryFile(suffix=".json") as plain:
    tracker.export_events(plain.name, format="json")
    with gzip.open(sys.argv[1], "wb", 9) as file:
        file.write(plain.read())
samples = tracker.get_telemetry_events()
print(f"{len(samples)} events; hidden at the end: {(samples[-1].device_used_bytes - samples[-1].allocator_reserved_bytes) / MIB:.0f} MiB")
