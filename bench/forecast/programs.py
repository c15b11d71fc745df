# SPDX-License-Identifier: MIT
"""Trainings that run out of memory, and healthy ones: programs.py CASE SECONDS. Each has a limit of its own, set by
per_process_memory_fraction. Prints one JSON line when it ends: when, and whether a request failed. FORECAST_DEVICE=cpu tries the
logic without a GPU.
"""
import json
import os
import random
import sys
import time

import torch
from torch import nn

DEVICE = os.environ.get("FORECAST_DEVICE", "cuda")
SCALE = float(os.environ.get("FORECAST_SCALE", "1"))  # of what is kept
MIB = 1 << 20
random.seed(7)
torch.manual_seed(7)


def tensor(mib):
    return torch.empty(int(mib * SCALE * MIB) // 4, device=DEVICE).fill_(1)


class Over(Exception):
    """It ran as long as it may."""


class Training:
    """A small network: a step of a few milliseconds, and a pause that stands for a larger one."""

    def __init__(self, width=1024, depth=6, pause=0.02):
        self.model = nn.Sequential(*[layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.GELU())]).to(DEVICE)
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.width, self.pause = width, pause
        self.start_s = time.time()

    def check_time(self):
        if time.time() - self.start_s > float(sys.argv[2]):
            raise Over

    def step(self, rows=512):
        self.check_time()
        out = self.model(torch.randn(rows, self.width, device=DEVICE))
        loss = out.square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        time.sleep(self.pause)
        return out, loss


def forever():
    i = 0
    while True:
        yield i
        i += 1


# ---- out of memory ----


def leak(t):
    kept = []
    for _ in forever():
        t.step()
        kept.append(tensor(12))


def varying(t):
    kept = []
    for _ in forever():
        t.step(random.randrange(64, 2048))
        kept.append(tensor(random.uniform(2, 22)))


def graph(t):
    losses = []
    for _ in forever():
        t.step()
        hidden = t.model(torch.randn(int(256 * SCALE) + 1, t.width, device=DEVICE))
        losses.append(hidden.square().mean())  # with its graph: every activation of the layers stays


def tenth(t):
    kept = []
    for i in forever():
        t.step()
        if i % 10 == 9:
            kept.append(tensor(120))


def buffer(t):
    memory = tensor(1)
    for _ in forever():
        t.step()
        memory = torch.cat([memory, tensor(8)])


def serving(t):
    answers = []
    with torch.no_grad():
        for _ in forever():
            t.check_time()
            answers.append(t.model(torch.randn(random.randrange(512, 4096), t.width, device=DEVICE)))
            time.sleep(0.02)


def card(t):
    kept = []
    for _ in forever():
        t.step()
        kept.append(tensor(160))


# ---- healthy ----


def plain(t):
    for _ in forever():
        t.step()


neighbour = plain  # beside a program that fills the card


def varying_batch(t):
    for _ in forever():
        t.step(random.randrange(64, 8192))


def evaluation(t):
    for i in forever():
        t.step()
        if i % 50 == 49:
            with torch.no_grad():
                results = [t.model(torch.randn(16384, t.width, device=DEVICE)) for _ in range(8)]
            del results


def bounded_cache(t):
    cache = {}
    for i in forever():
        t.step()
        cache[i % 100] = tensor(10)  # 1 GiB when it is full


def epochs(t):
    outputs = []
    for i in forever():
        out, _ = t.step()
        outputs.append(out.detach().repeat(4, 1))  # 8 MiB
        if i % 100 == 99:
            outputs.clear()


def loading(t):
    data = []
    while len(data) < 35:
        data.append(tensor(100))  # 3.5 GiB
        time.sleep(0.15)
    plain(t)


def main():
    case = sys.argv[1]
    training = Training()
    result = {"case": case, "failed": False, "start_s": training.start_s}
    try:
        globals()[case](training)
    except Over:
        pass
    except torch.cuda.OutOfMemoryError:
        result["failed"] = True
    result["end_s"] = time.time()
    print(json.dumps(result), flush=True)


main()
