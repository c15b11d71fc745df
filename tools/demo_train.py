# SPDX-License-Identifier: MIT
"""What tools/demo.sh records: a training loop with a common leak, which ends as if the kernel's OOM killer had killed it."""

import os
import signal

import torch


def train(steps):
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scores = []
    for _ in range(steps):
        loss = model(torch.randn(64, 256)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scores.append(model(torch.randn(64, 256)).mean())  # the leak: a score kept with its whole graph
    os.kill(os.getpid(), signal.SIGKILL)


train(200)
