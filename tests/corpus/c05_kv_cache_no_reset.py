"""Text generation; the KV cache is not reset between prompts, so each prompt attends to all the earlier ones."""
import torch, common
from torch import nn
from common import DEV
PROMPTS, PREFILL, DECODE, BATCH = 8, 16, 7, 4

class Attention(nn.Module):
    def __init__(self, dim=256, heads=4):
        super().__init__()
        self.qkv, self.out, self.heads = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim), heads
        self.k = self.v = None
    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        self.k = k if self.k is None else torch.cat([self.k, k], 2)  # LEAK
        self.v = v if self.v is None else torch.cat([self.v, v], 2)  # LEAK
        a = (q @ self.k.transpose(-1, -2) / 8).softmax(-1)
        return x + self.out((a @ self.v).transpose(1, 2).reshape(b, t, d))

common.start()
embed, head = nn.Embedding(1000, 256).to(DEV), nn.Linear(256, 1000).to(DEV)
layers = nn.ModuleList(Attention() for _ in range(2)).to(DEV)
with torch.no_grad():
    for prompt in range(PROMPTS):
        tokens = torch.randint(0, 1000, (BATCH, PREFILL), device=DEV)
        for _ in range(DECODE):
            h = embed(tokens)
            for layer in layers:
                h = layer(h)
            tokens = head(h[:, -1]).argmax(-1, keepdim=True)
            common.step()
held = [(l.k, l.v) for l in layers]
common.save("c05_kv_cache_no_reset", __file__, {"verdict": "leak", "kind": "growing buffer",
            "accept_kinds": ["growing buffer", "tensor retention", "kv cache"], "accept_steps": [PROMPTS * DECODE, PROMPTS],
            "leak_bytes_total": common.nbytes(held), "leak_blocks": common.count(held)})
