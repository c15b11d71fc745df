# SPDX-License-Identifier: MIT
"""Slowdown of a training step that is bound by the CPU: nothing, `stormlog run`, and (on a GPU) torch's own history with
Python stacks and with all stacks.

Every way has several processes of its own, all started at once; then they take turns of one block of steps, while the
others are stopped, so that clocks, caches and neighbours treat all ways alike. "Nothing" stands there twice: the
second one shows how much of a difference is noise. Arguments: the program stormlog, rounds, steps per block, processes of
each way.
"""

import os
import platform
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

WAYS = ["nothing", "nothing, again", "stormlog run", "torch history, python stacks", "torch history, all stacks"]
TORCH_STACKS = {"torch history, python stacks": "python", "torch history, all stacks": "all"}


# --- One process that trains when it is told to -----------------------------------------------------


def make_step(torch, device):
    """A small transformer: the time goes into launching, which is where a recorder can hurt."""
    width, batch, length = (128, 8, 32) if device == "cuda" else (32, 2, 8)
    layer = torch.nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
    net = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    x = torch.randn(batch, length, width, device=device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        net(x).square().mean().backward()
        optimizer.step()

    return step


def work(way, block):
    import torch
    has_gpu = torch.cuda.is_available()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = make_step(torch, "cuda" if has_gpu else "cpu")
    if way in TORCH_STACKS:
        torch.cuda.memory._record_memory_history(stacks=TORCH_STACKS[way], max_entries=1000000)
    wait = torch.cuda.synchronize if has_gpu else lambda: None
    for _ in range(2 * block):  # first sight of every stack, every kernel
        step()
    wait()
    before = torch.cuda.memory_stats()["allocation.all.allocated"] if has_gpu else 0
    step()
    per_step = torch.cuda.memory_stats()["allocation.all.allocated"] - before if has_gpu else 0
    print(os.getpid(), torch.__version__, "cuda" if has_gpu else "cpu", per_step, flush=True)
    for _ in sys.stdin:
        step()  # caches are cold after the others' turns
        wait()
        start = time.perf_counter()
        for _ in range(block):
            step()
        wait()
        print((time.perf_counter() - start) / block * 1e6, flush=True)
    os._exit(0)


# --- Who tells them -----------------------------------------------------------------------------------


class Worker:
    def __init__(self, way, stormlog, block, folder):
        own = [sys.executable, os.path.abspath(__file__), "--work", way, str(block)]
        # The CPU's allocator is recorded by itself where there is no GPU.
        command = [stormlog, "run", "-q", "-o", folder, "--", *own] if way == "stormlog run" else own
        self.way = way
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait_ready(self):
        pid, self.torch, self.device, self.per_step = self.process.stdout.readline().split()
        self.pid = int(pid)  # of the interpreter, which may be below `stormlog run`
        os.kill(self.pid, signal.SIGSTOP)

    def take_turn(self):
        os.kill(self.pid, signal.SIGCONT)
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        value = float(self.process.stdout.readline())
        os.kill(self.pid, signal.SIGSTOP)
        return value

    def end(self):
        os.kill(self.pid, signal.SIGCONT)
        self.process.communicate()


def has_device():
    code = "import torch, sys; sys.exit(not torch.cuda.is_available())"
    return subprocess.run([sys.executable, "-c", code]).returncode == 0


def measure(stormlog, rounds, block, copies, folder):
    """(ways, one of the workers, a time for each (copy, round) of each way)."""
    ways = WAYS if has_device() else WAYS[:3]
    workers = [[Worker(way, stormlog, block, folder) for way in ways] for _ in range(copies)]
    for group in workers:
        for worker in group:
            worker.wait_ready()
    times = {way: [] for way in ways}
    order = random.Random(1)
    for _ in range(rounds):
        for group in workers:
            for worker in order.sample(group, len(group)):
                times[worker.way].append(worker.take_turn())
    for group in workers:
        for worker in group:
            worker.end()
    return ways, workers[0][0], times


def spread(values):
    """First and third quartile."""
    low, _, high = statistics.quantiles(values, n=4)
    return low, high


def show(ways, worker, times, args):
    rounds, block, copies = args
    base = times["nothing"]
    print(f"{rounds} rounds of {block} steps, {copies} processes of each way in turns, on {worker.device}, torch "
          f"{worker.torch}, Python {platform.python_version()}" + (f"; {worker.per_step} allocations a step" if worker.device == "cuda" else ""))
    print("| way | median step, us | quartiles, us | slowdown, median of pairs | quartiles of it |")
    print("| --- | ---: | ---: | ---: | ---: |")
    slowdown = {}
    for way in ways:
        ratios = [value / nothing - 1 for value, nothing in zip(times[way], base)]
        slowdown[way] = statistics.median(ratios) * 100
        low, high = spread(times[way])
        few, many = (quartile * 100 for quartile in spread(ratios))
        print(f"| {way} | {statistics.median(times[way]):.1f} | {low:.1f} to {high:.1f} | {slowdown[way]:+.2f} % "
              f"| {few:+.2f} to {many:+.2f} % |")
    for way in TORCH_STACKS:
        if way in slowdown:
            print(f"{way}: {slowdown[way] / max(slowdown['stormlog run'], 0.01):.1f} times the recorder's slowdown")
    if worker.device == "cpu":
        print("On the CPU the slowdown includes torch's own table of block sizes, which it keeps only while blocks are reported.")


def main():
    stormlog, args = os.path.abspath(sys.argv[1]), [int(text) for text in sys.argv[2:5]]
    with tempfile.TemporaryDirectory() as folder:
        ways, worker, times = measure(stormlog, *args, os.path.join(folder, "run"))
    show(ways, worker, times, args)


if sys.argv[1] == "--work":
    work(sys.argv[2], int(sys.argv[3]))
else:
    main()
