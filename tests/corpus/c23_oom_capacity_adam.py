"""The weights and gradients fit; Adam's two states, made in the first step, do not. Cause: capacity."""
import torch, common
from torch import nn
from common import DEV
WIDTH = 128 if common.DRY else 2048

common.start()
common.limit(1100)
msg = "dry"
model = nn.Sequential(*[m for _ in range(20) for m in (nn.Linear(WIDTH, WIDTH), nn.GELU())]).to(DEV)
opt = torch.optim.AdamW(model.parameters())
try:
    for step in range(4):
        x = torch.randn(32, WIDTH, device=DEV)
        loss = model(x).pow(2).mean()
        loss.backward()
        opt.step()  # OOM
        opt.zero_grad()
        common.step()
    print("no OOM")
except common.OOM as e:
    msg = str(e)
common.save("c23_oom_capacity_adam", __file__, {"verdict": "oom", "kind": "capacity", "oom_cause": "capacity", "message": msg,
            "accept_causes": ["capacity"], "steps": 0, "accept_steps": [0, 1]})
