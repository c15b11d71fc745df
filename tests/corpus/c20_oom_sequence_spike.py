"""Naive attention trained on 128 tokens; one document of 4,096 tokens wants a score matrix that does not fit. Cause: spike."""
import torch, common
from torch import nn
from common import DEV

class NaiveAttention(nn.Module):
    def __init__(self, dim=128, heads=8):
        super().__init__()
        self.qkv, self.out, self.heads = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim), heads
    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2)  # OOM
        a = (scores * 0.25).softmax(-1)  # OOM
        return self.out((a @ v).transpose(1, 2).reshape(b, t, d))

common.start()
common.limit(1536)
model = NaiveAttention().to(DEV)
opt, msg = torch.optim.SGD(model.parameters(), lr=0.01), "dry"
try:
    for step in range(60):
        tokens = 4096 if step == 45 and not common.DRY else 128
        x = torch.randn(4, tokens, 128, device=DEV)
        loss = (model(x) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        common.step()
except common.OOM as e:
    msg = str(e)
common.save("c20_oom_sequence_spike", __file__, {"verdict": "oom", "kind": "spike", "oom_cause": "spike", "message": msg,
            "request_bytes": 4 * 8 * 4096 * 4096 * 4, "accept_causes": ["spike"]})
