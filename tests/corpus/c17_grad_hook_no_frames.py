"""A tensor hook keeps raw gradients. They come from autograd's own thread, so their blocks have no Python stack at all."""
import torch, common
from torch import nn
from common import DEV

common.start()
model = nn.Sequential(nn.Linear(100, 200), nn.Sigmoid(), nn.Linear(200, 50)).to(DEV)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
kept = []
model[0].weight.register_hook(lambda g: kept.append(g))  # ACCEPT
for step in range(70):
    x = torch.randn(64, 100, device=DEV)
    loss = model(x).logsumexp(-1).mean()
    opt.zero_grad()
    loss.backward()  # LEAK
    opt.step()
    common.step()
common.save("c17_grad_hook_no_frames", __file__, {"verdict": "leak", "kind": "tensor retention", "accept_no_line": True,
            "leak_bytes_total": common.nbytes(kept), "leak_blocks": common.count(kept)})
