"""Mixed precision: autocast and GradScaler; casts and cached half weights come and go inside a step."""
import torch, common
from torch import nn
from common import DEV

common.start()
scaler = torch.cuda.amp.GradScaler(enabled=False) if common.DRY else torch.amp.GradScaler("cuda")
half = torch.bfloat16 if common.DRY else torch.float16
model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 16)).to(DEV)
opt = torch.optim.Adam(model.parameters(), lr=1e-4)
for step in range(45):
    x, y = torch.randn(128, 256, device=DEV), torch.randint(0, 16, (128,), device=DEV)
    with torch.autocast(DEV, dtype=half, enabled=not common.DRY):
        loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    common.step()
common.save("c45_amp_scaler", __file__, {"verdict": "healthy", "kind": "mixed precision"})
