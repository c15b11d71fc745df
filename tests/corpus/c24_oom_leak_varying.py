"""Contrastive training with batches of 32 to 160; old embeddings are kept as negatives for ever, until the limit. Cause: leak."""
import random, torch, common
from torch import nn
from common import DEV

class MemoryBank:
    def __init__(self):
        self.negatives = []
    def add(self, z):
        self.negatives.append(nn.functional.normalize(z.detach(), dim=-1))  # LEAK  # OOM

common.start()
common.limit(300)
random.seed(2)
net = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 8192)).to(DEV)
opt, bank, msg = torch.optim.SGD(net.parameters(), lr=1e-3), MemoryBank(), "dry"
try:
    for step in range(10 if common.DRY else 2000):
        n = random.randint(32, 160)
        x = torch.randn(n, 256, device=DEV)  # OOM
        z, z2 = net(x), net(x + 0.1)  # OOM
        loss = -nn.functional.cosine_similarity(z, z2).mean()  # OOM
        opt.zero_grad()
        loss.backward()  # OOM
        opt.step()  # OOM
        bank.add(z)
        common.step()
    print("no OOM")
except common.OOM as e:
    msg = str(e)
common.save("c24_oom_leak_varying", __file__, {"verdict": "oom", "kind": "leak until limit", "oom_cause": "leak", "message": msg,
            "accept_causes": ["leak"], "accept_kinds": ["leak until limit", "tensor retention"], "accept_no_oom_line": True,
            "leak_bytes_total": common.nbytes(bank.negatives), "leak_blocks": common.count(bank.negatives)})
