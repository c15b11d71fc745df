"""Two-tower recommender; item vectors are cached by step and never looked up or dropped."""
import torch, common
from torch import nn
from common import DEV

class Tower(nn.Module):
    def __init__(self, rows, dim=64):
        super().__init__()
        self.emb = nn.Embedding(rows, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 128), nn.ReLU(), nn.Linear(128, dim))
    def forward(self, ids):
        return self.mlp(self.emb(ids))

common.start()
users, items = Tower(5000).to(DEV), Tower(2000).to(DEV)
opt = torch.optim.Adam([*users.parameters(), *items.parameters()], lr=1e-3)
cache = {}
for step in range(50):
    u, i = torch.randint(0, 5000, (256,), device=DEV), torch.randint(0, 2000, (256,), device=DEV)
    clicked = torch.randint(0, 2, (256,), device=DEV).float()
    item_vec = items(i)
    score = (users(u) * item_vec).sum(-1)
    loss = nn.functional.binary_cross_entropy_with_logits(score, clicked)
    opt.zero_grad()
    loss.backward()
    opt.step()
    cache[step] = nn.functional.normalize(item_vec.detach(), dim=-1)  # LEAK
    common.step()
common.save("c01_cache_dict", __file__, {"verdict": "leak", "kind": "tensor retention", "accept_kinds": ["tensor retention", "cache"],
            "leak_bytes_total": common.nbytes(cache), "leak_blocks": common.count(cache)})
