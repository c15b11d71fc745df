"""Tabular net with batches of 1 to 64 rows drawn at random."""
import random, torch, common
from torch import nn
from common import DEV

common.start()
random.seed(7)
model = nn.Sequential(nn.Linear(300, 600), nn.ReLU(), nn.LayerNorm(600), nn.Linear(600, 600), nn.ReLU(), nn.Linear(600, 3)).to(DEV)
opt = torch.optim.Adam(model.parameters())
for step in range(70):
    n = random.randint(1, 64)
    x, y = torch.randn(n, 300, device=DEV), torch.randint(0, 3, (n,), device=DEV)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    common.step()
common.save("c31_varying_batch", __file__, {"verdict": "healthy", "kind": "varying batch"})
