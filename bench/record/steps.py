# SPDX-License-Identifier: MIT
"""Slowdown of a training step that is bound by the CPU: nothing, the recorder, and (on a GPU) torch's own history with
Python stacks and with all stacks. One process; the ways alternate in blocks of steps. Arguments: the recorder's library,
rounds, steps per block.
"""

import ctypes
import os
import statistics
import sys
import tempfile
import time

import torch

library = ctypes.CDLL(sys.argv[1])
rounds, block = int(sys.argv[2]), int(sys.argv[3])
has_gpu = torch.cuda.is_available()
device = "cuda" if has_gpu else "cpu"
torch.set_num_threads(1)

# Small layers: the time goes into launching, which is where a recorder can hurt.
net = torch.nn.Sequential(*[layer for _ in range(12) for layer in (torch.nn.Linear(64, 64), torch.nn.ReLU())]).to(device)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
x = torch.randn(16, 64, device=device)


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("cpu", ctypes.c_uint32), ("stacks", ctypes.c_uint32),
                ("interval_ms", ctypes.c_uint32), ("ring_bytes", ctypes.c_uint64), ("dir", ctypes.c_char_p)]


def run_steps():
    for _ in range(block):
        optimizer.zero_grad(set_to_none=True)
        net(x).square().mean().backward()
        optimizer.step()
    if has_gpu:
        torch.cuda.synchronize()


def timed():
    start = time.perf_counter()
    run_steps()
    return (time.perf_counter() - start) / block * 1e6


def start_recorder(folder):
    options = Options(struct_size=ctypes.sizeof(Options), cpu=0 if has_gpu else 1, dir=os.fsencode(folder))
    if library.sl_record_start(ctypes.byref(options)) != 0:
        sys.exit("sl_record_start failed")


def history(stacks):
    return (lambda _: torch.cuda.memory._record_memory_history(stacks=stacks, max_entries=1000000),
            lambda: torch.cuda.memory._record_memory_history(enabled=None))


ways = {"nothing": (lambda _: None, lambda: None), "stormlog": (start_recorder, library.sl_record_stop)}
if has_gpu:
    ways["torch history, python stacks"] = history("python")
    ways["torch history, all stacks"] = history("all")

results = {name: [] for name in ways}
with tempfile.TemporaryDirectory() as folder:
    for _ in range(5):
        run_steps()
    for _ in range(rounds):
        for name, (start, stop) in ways.items():
            start(folder)
            run_steps()  # first sight of every stack
            results[name].append(timed())
            stop()
            for file in os.listdir(folder):
                os.unlink(os.path.join(folder, file))

base = statistics.median(results["nothing"])
print(f"{rounds} alternating rounds of {block} steps on {device}, torch {torch.__version__}, one process")
print(f"{'':30} {'median step':>12} {'min':>10} {'max':>10}   slowdown of the median")
for name, values in results.items():
    ratios = [value / nothing - 1 for value, nothing in zip(values, results["nothing"])]
    print(f"{name:30} {statistics.median(values):9.1f} us {min(values):7.1f} us {max(values):7.1f} us"
          f"   {statistics.median(ratios) * 100:+6.2f} %")
if not has_gpu:
    print("On the CPU the slowdown includes torch's own table of block sizes, which it keeps only while blocks are reported.")
