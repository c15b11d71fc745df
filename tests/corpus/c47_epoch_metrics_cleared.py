"""Predictions are collected on the GPU during an epoch, reduced at its end and cleared: growth inside an epoch only."""
import torch, common
from torch import nn
from common import DEV
EPOCHS, PER_EPOCH = 6, 11

common.start()
model = nn.Sequential(nn.Linear(50, 200), nn.ReLU(), nn.Linear(200, 30)).to(DEV)
opt = torch.optim.NAdam(model.parameters())
for epoch in range(EPOCHS):
    predicted, wanted = [], []
    for _ in range(PER_EPOCH):
        x, y = torch.randn(150, 50, device=DEV), torch.randint(0, 30, (150,), device=DEV)
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        predicted.append(logits.detach())
        wanted.append(y)
        common.step()
    accuracy = (torch.cat(predicted).argmax(-1) == torch.cat(wanted)).float().mean().item()
common.save("c47_epoch_metrics_cleared", __file__, {"verdict": "healthy", "kind": "epoch accumulation", "accept_steps": [EPOCHS * PER_EPOCH, EPOCHS]})
