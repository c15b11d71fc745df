"""Generation with a KV cache that grows by torch.cat and is dropped after every prompt: a sawtooth, not a leak."""
import torch, common
from torch import nn
from common import DEV
PROMPTS, DECODE = 7, 16

common.start()
embed, head = nn.Embedding(800, 192).to(DEV), nn.Linear(192, 800).to(DEV)
to_k, to_v, to_q = (nn.Linear(192, 192).to(DEV) for _ in range(3))
with torch.no_grad():
    for prompt in range(PROMPTS):
        keys = values = None
        token = torch.randint(0, 800, (8, 1), device=DEV)
        for _ in range(DECODE):
            h = embed(token)
            keys = to_k(h) if keys is None else torch.cat([keys, to_k(h)], 1)
            values = to_v(h) if values is None else torch.cat([values, to_v(h)], 1)
            mixed = (to_q(h) @ keys.transpose(1, 2)).softmax(-1) @ values
            token = head(mixed[:, -1]).argmax(-1, keepdim=True)
            common.step()
common.save("c46_kv_sawtooth", __file__, {"verdict": "healthy", "kind": "KV cache", "accept_steps": [PROMPTS * DECODE, PROMPTS]})
