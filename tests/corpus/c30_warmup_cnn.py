"""Residual ConvNet with AdamW and cuDNN benchmarking: weights, workspaces and optimizer state appear in the first steps."""
import torch, common
from torch import nn
from common import DEV

class Block(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.c1, self.b1, self.c2, self.b2 = nn.Conv2d(ch, ch, 3, padding=1), nn.BatchNorm2d(ch), nn.Conv2d(ch, ch, 3, padding=1), nn.BatchNorm2d(ch)
    def forward(self, x):
        return (x + self.b2(self.c2(self.b1(self.c1(x)).relu()))).relu()

common.start()
torch.backends.cudnn.benchmark = True
model = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), Block(24), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(24 * 256, 10)).to(DEV)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(40):
    x, y = torch.randn(32, 3, 32, 32, device=DEV), torch.randint(0, 10, (32,), device=DEV)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    common.step()
common.save("c30_warmup_cnn", __file__, {"verdict": "healthy", "kind": "warm-up", "accept_verdicts": ["healthy", "spike"]})
