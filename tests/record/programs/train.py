# SPDX-License-Identifier: MIT
"""A small training, the same on every run. Arguments: optimizer, steps. Prints what it did as JSON."""

import json
import sys

import torch

torch.set_num_threads(1)
torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 128)
        self.second = torch.nn.Linear(128, 10)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def main():
    name, steps = sys.argv[1], int(sys.argv[2])
    net = Net()
    optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.01)
    kept = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = net(torch.randn(32, 64)).square().mean()
        loss.backward()
        optimizer.step()
        kept.append(torch.ones(1000))  # the leak
    print(json.dumps({"leak_line": 33, "leak_bytes": 4000 * steps}), flush=True)


main()
