# SPDX-License-Identifier: MIT
"""torch-geometric: two graph convolutions on a made-up graph; through stormlog.record()."""

import torch
import torch_geometric.nn
from common_frameworks import DEVICE, STEPS, keep_one, run
from torch_geometric.data import Data


class Graph(torch.nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.first = torch_geometric.nn.GCNConv(width, width)
        self.second = torch_geometric.nn.GCNConv(width, 4)

    def forward(self, data):
        return self.second(self.first(data.x, data.edge_index).relu(), data.edge_index)


def train(on_step):
    data = Data(x=torch.randn(500, 32), edge_index=torch.randint(0, 500, (2, 4000)), y=torch.randint(0, 4, (500,))).to(DEVICE)
    model = Graph().to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(STEPS):
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(data), data.y)
        loss.backward()
        optimizer.step()
        keep_one(loss)
        on_step()
    return data, model, optimizer, loss


if __name__ == "__main__":
    kept_to_the_end = run(train)
