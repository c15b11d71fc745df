"""ConvNet with forward hooks left in from debugging: each keeps its layer's output. Native stacks recorded too."""
import torch, common
from torch import nn
from common import DEV

common.start(stacks="all")
model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                      nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 10)).to(DEV)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
seen = {}
def keep(module, args, output):
    seen.setdefault(id(module), []).append(output.detach())  # ACCEPT
for layer in model:
    if isinstance(layer, nn.Conv2d):
        layer.register_forward_hook(keep)
for step in range(30):
    x, y = torch.randn(8, 3, 32, 32, device=DEV), torch.randint(0, 10, (8,), device=DEV)
    logits = model(x)  # LEAK
    loss = nn.functional.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    common.step()
common.save("c09_forward_hook", __file__, {"verdict": "leak", "kind": "tensor retention", "accept_kinds": ["tensor retention", "hook"],
            "leak_bytes_total": common.nbytes(seen), "leak_blocks": common.count(seen)})
