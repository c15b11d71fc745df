"""Gradient accumulation over four micro-batches, done right. Native stacks recorded, symbolised by dladdr only."""
import os
os.environ["TORCH_DISABLE_ADDR2LINE"] = "1"
import torch, common
from torch import nn
from common import DEV
STEPS, MICRO = 14, 4

common.start(stacks="all")
model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256)).to(DEV)
opt = torch.optim.AdamW(model.parameters())
for step in range(STEPS):
    for _ in range(MICRO):
        x = torch.randn(64, 256, device=DEV)
        loss = (model(x) - x).pow(2).mean() / MICRO
        loss.backward()
        common.step()
    opt.step()
    opt.zero_grad()
common.save("c33_grad_accumulation", __file__, {"verdict": "healthy", "kind": "gradient accumulation", "accept_steps": [STEPS * MICRO, STEPS]})
