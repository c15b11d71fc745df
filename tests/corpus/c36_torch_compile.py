"""A small model under torch.compile: generated kernels, compile contexts in the events."""
import torch, common
from torch import nn
from common import DEV

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(128, 512), nn.Linear(512, 128)
    def forward(self, x):
        return x + self.b(torch.sin(self.a(x)) * torch.sigmoid(self.a(x)))

if common.DRY or not hasattr(torch, "compile"):
    common.skip("no torch.compile here")
common.start(compile_context=True)
net = Net().to(DEV)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
try:
    model = torch.compile(net)
    model(torch.randn(64, 128, device=DEV)).sum().backward()
    opt.zero_grad()
except Exception as e:
    common.skip(f"compile failed: {type(e).__name__}: {str(e)[:300]}")
for step in range(120):
    x = torch.randn(64, 128, device=DEV)
    loss = (model(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    common.step()
common.save("c36_torch_compile", __file__, {"verdict": "healthy", "kind": "torch.compile"})
