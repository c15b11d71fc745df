# SPDX-License-Identifier: MIT
"""Samples of a process that takes memory which PyTorch's allocator does not know, as a library in C would: a hidden gap that grows.

    python3 replay/record_hidden_gap.py OUTPUT.json.gz              # on a CUDA device: cuMemAlloc, 256 MiB per sample
    python3 replay/record_hidden_gap.py OUTPUT.json.gz --made-up    # without one: the tracker reads a card that a test plays

hidden_gap.json.gz beside this file was made with --made-up: the figures are not a measurement.
"""

import ctypes
import gzip
import shutil
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MIB = 1024 ** 2
SAMPLES = 80


def take_for_real():
    """A function that takes one block from the driver, past PyTorch."""
    import torch

    take_for_real.kept = torch.ones(1 << 24, device="cuda")
    driver = ctypes.CDLL("libcuda.so.1")

    def take():
        address = ctypes.c_uint64()
        if driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(256 * MIB)):
            sys.exit("cuMemAlloc failed")

    return take


def take_made_up():
    sys.path.insert(0, str(HERE.parents[2] / "tests" / "py"))
    import standin_torch

    torch = standin_torch.install("cuda")
    torch.state.allocate(1 << 26)

    def take():
        torch.state.hidden += 64 * MIB  # of a card with 16 GiB

    return take


def record(take, interval):
    from stormlog import MemoryTracker

    tracker = MemoryTracker(sampling_interval=interval, enable_alerts=False, job_id="hidden-gap")
    with tracker:
        for _ in range(SAMPLES):
            take()
            time.sleep(interval)
    return tracker


def main(output, is_made_up=False):
    tracker = record(take_made_up() if is_made_up else take_for_real(), interval=0.05)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "events.json")
        tracker.export_events(plain, format="json")
        with plain.open("rb") as source, gzip.open(output, "wb", 9) as target:
            shutil.copyfileobj(source, target)
    last = tracker.get_telemetry_events()[-1]
    print(f"outside the allocator at the end: {(last.device_used_bytes - last.allocator_reserved_bytes) / MIB:,.0f} MiB")


main(sys.argv[1], "--made-up" in sys.argv)
