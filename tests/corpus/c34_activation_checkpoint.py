"""Transformer blocks under activation checkpointing: activations are computed a second time inside backward."""
import torch, common
from torch import nn
from torch.utils.checkpoint import checkpoint
from common import DEV

class Block(nn.Module):
    def __init__(self, dim=128):
        super().__init__()
        self.n1, self.n2, self.att = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.MultiheadAttention(dim, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
    def forward(self, x):
        h = self.n1(x)
        x = x + self.att(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.n2(x))

common.start()
blocks, head = nn.ModuleList(Block() for _ in range(2)).to(DEV), nn.Linear(128, 32).to(DEV)
opt = torch.optim.SGD([*blocks.parameters(), *head.parameters()], lr=0.01)
for step in range(24):
    h = torch.randn(8, 64, 128, device=DEV, requires_grad=True)
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False)
    loss = head(h).logsumexp(-1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    common.step()
common.save("c34_activation_checkpoint", __file__, {"verdict": "healthy", "kind": "activation checkpointing"})
