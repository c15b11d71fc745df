"""The small net that the special cases train: what they test is the file, not the model."""
import torch
from torch import nn
import common


class TinyNet(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(128, width), nn.ReLU(), nn.Linear(width, width), nn.Tanh())
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.body(x))


def make(width=256):
    model = TinyNet(width).to(common.DEV)
    return model, torch.optim.Adam(model.parameters(), lr=1e-3)


def train(model, opt, steps, batch=128):
    for _ in range(steps):
        x = torch.randn(batch, 128, device=common.DEV)
        y = torch.randint(0, 10, (batch,), device=common.DEV)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        common.step()
