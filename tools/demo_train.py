# SPDX-License-Identifier: MIT
"""What tools/demo.sh records: a training loop with the commonest leak there is, which then dies as the kernel would kill it."""

import os
import signal

import torch


def train(steps):
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    history = []
    for _ in range(steps):
        loss = model(torch.randn(64, 256)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss)  # the leak: keeps the graph of every step alive


train(200)
os.kill(os.getpid(), signal.SIGKILL)
