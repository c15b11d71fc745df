"""Training with an evaluation of three larger batches after every ten steps."""
import torch, common
from torch import nn
from common import DEV

@torch.no_grad()
def evaluate(model):
    right = 0
    for _ in range(3):
        x, y = torch.randn(256, 1, 20, 20, device=DEV), torch.randint(0, 10, (256,), device=DEV)
        right += (model(x).argmax(-1) == y).sum().item()
    return right / 768

common.start()
model = nn.Sequential(nn.Conv2d(1, 12, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 24, 3), nn.ReLU(), nn.Flatten(), nn.Linear(24 * 36, 10)).to(DEV)
opt, history = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), []
for step in range(60):
    x, y = torch.randn(48, 1, 20, 20, device=DEV), torch.randint(0, 10, (48,), device=DEV)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 9:
        history.append(evaluate(model))
    common.step()
common.save("c32_eval_phases", __file__, {"verdict": "healthy", "kind": "evaluation phases", "accept_steps": [60, 6]})
