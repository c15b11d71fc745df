"""Fine-tuning that thaws one more layer at steps 8, 16 and 24: three late warm-ups of gradients and Adam state, then a plateau."""
import torch, common
from torch import nn
from common import DEV

common.start()
model = nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(256, 256), nn.ReLU())], nn.Linear(256, 10)).to(DEV)
layers = [m for m in model if isinstance(m, nn.Linear)]
for p in model.parameters():
    p.requires_grad_(False)
for p in layers[-1].parameters():
    p.requires_grad_(True)
opt = torch.optim.Adam(model.parameters())
for step in range(64):
    if step in (8, 16, 24):
        for p in layers[-1 - step // 8].parameters():
            p.requires_grad_(True)
    x, y = torch.randn(64, 256, device=DEV), torch.randint(0, 10, (64,), device=DEV)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    common.step()
common.save("c48_progressive_unfreeze", __file__, {"verdict": "healthy", "kind": "late warm-up"})
