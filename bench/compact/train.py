# SPDX-License-Identifier: MIT
"""A transformer on the CPU: its step is long and its stacks are deep. Argument: steps; 300 make half a million events."""

import sys

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        h = self.norms[0](x)
        x = x + self.attention(h, h, h)[0]
        return x + self.mlp(self.norms[1](x))


class Model(nn.Module):
    def __init__(self, width=32, depth=4):
        super().__init__()
        self.embed = nn.Embedding(100, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 100)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(int(sys.argv[1])):
    x = torch.randint(0, 100, (4, 8 + step % 5))  # lengths vary, as of real batches
    loss = nn.functional.cross_entropy(model(x).view(-1, 100), x.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
