"""Continual learning; each task adds a head and its Adam state, and old heads are dropped from the model but not from Adam."""
import torch, common
from torch import nn
from common import DEV
TASKS, PER_TASK = 14, 3

def new_head():
    return nn.Linear(128, 64).to(DEV)  # LEAK

common.start()
trunk = nn.Sequential(nn.Linear(32, 128), nn.ReLU()).to(DEV)
opt = torch.optim.Adam(trunk.parameters(), lr=1e-3)
for task in range(TASKS):
    head = new_head()  # ACCEPT
    opt.add_param_group({"params": list(head.parameters())})
    for _ in range(PER_TASK):
        x, y = torch.randn(64, 32, device=DEV), torch.randint(0, 64, (64,), device=DEV)
        loss = nn.functional.cross_entropy(head(trunk(x)), y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()  # LEAK
        common.step()
held = [[p for g in opt.param_groups[1:] for p in g["params"]], [s for p, s in opt.state.items() if p.shape[0] == 64]]
truth = {"leak_bytes_total": common.nbytes(held), "leak_blocks": common.count(held)}
del held
common.save("c19_param_groups", __file__, dict(truth, verdict="leak", kind="tensor retention", accept_steps=[TASKS * PER_TASK, TASKS]))
