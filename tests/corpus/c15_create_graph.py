"""WGAN critic with gradient penalty; backward(create_graph=True) and gradients that are never zeroed keep every graph."""
import torch, warnings, common
from torch import nn
from common import DEV
warnings.filterwarnings("ignore")

common.start()
critic = nn.Sequential(nn.Linear(128, 256), nn.Softplus(), nn.Linear(256, 128), nn.Softplus(), nn.Linear(128, 1)).to(DEV)
opt = torch.optim.SGD(critic.parameters(), lr=1e-4)
for step in range(40):
    x = torch.randn(64, 128, device=DEV, requires_grad=True)  # ACCEPT
    score = critic(x).mean()  # LEAK
    slope, = torch.autograd.grad(score, x, create_graph=True)  # ACCEPT
    penalty = (slope.norm(2, dim=1) - 1).pow(2).mean()  # LEAK
    loss = score + 10 * penalty  # ACCEPT
    loss.backward(create_graph=True)  # ACCEPT
    opt.step()
    if (step + 1) % 64 == 0:  # meant to be 4
        opt.zero_grad()
    common.step()
common.save("c15_create_graph", __file__, {"verdict": "leak", "kind": "graph retention", "accept_no_line": True,
            "leak_bytes_per_step": common.slope()})
for p in critic.parameters():
    p.grad = None
