"""Regression net with batch norm; a full backward hook stores a copy of each gradient that flows into one layer."""
import torch, common
from torch import nn
from common import DEV

class GradientLog:
    def __init__(self, layer):
        self.grads = []
        layer.register_full_backward_hook(self.on_backward)
    def on_backward(self, module, grad_input, grad_output):
        self.grads.append(grad_output[0].detach().clone())  # LEAK

common.start()
model = nn.Sequential(nn.Linear(64, 256), nn.BatchNorm1d(256), nn.SiLU(), nn.Linear(256, 256), nn.SiLU(), nn.Linear(256, 1)).to(DEV)
log = GradientLog(model[3])
opt = torch.optim.Adam(model.parameters())
for step in range(55):
    x = torch.randn(200, 64, device=DEV)
    loss = (model(x).squeeze(1) - x.sum(1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # ACCEPT
    opt.step()
    common.step()
common.save("c10_backward_hook_clone", __file__, {"verdict": "leak", "kind": "tensor retention", "accept_kinds": ["tensor retention", "hook"],
            "leak_bytes_total": common.nbytes(log.grads), "leak_blocks": common.count(log.grads)})
