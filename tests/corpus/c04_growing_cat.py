"""DQN; the replay buffer is one tensor that torch.cat replaces by a longer one each step, without a bound."""
import torch, common
from torch import nn
from common import DEV

common.start()
q = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 6)).to(DEV)
opt = torch.optim.RMSprop(q.parameters(), lr=1e-3)
buffer = torch.zeros(0, 64, device=DEV)
for step in range(70):
    observed = torch.randn(128, 64, device=DEV)
    buffer = torch.cat([buffer, observed])  # LEAK
    pick = torch.randint(0, len(buffer), (256,), device=DEV)
    state = buffer[pick]
    target = torch.randn(256, device=DEV)
    loss = nn.functional.smooth_l1_loss(q(state).max(1).values, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    common.step()
common.save("c04_growing_cat", __file__, {"verdict": "leak", "kind": "growing buffer", "accept_kinds": ["growing buffer", "tensor retention"],
            "leak_bytes_total": common.nbytes(buffer), "leak_blocks": 1})
