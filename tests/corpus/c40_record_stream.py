"""Copies on a side stream handed to the main stream by record_stream: frees that complete later."""
import torch, common
from torch import nn
from common import DEV

common.start()
model = nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 256)).to(DEV)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
heavy = torch.randn(64 if common.DRY else 4096, 64 if common.DRY else 4096, device=DEV)
side, on_side = common.side_stream()
host = torch.randn(512, 1024)
host = host if common.DRY else host.pin_memory()
for step in range(60):
    with on_side:
        x = host.to(DEV, non_blocking=True, copy=True)
    if side is not None:
        torch.cuda.current_stream().wait_stream(side)
        x.record_stream(torch.cuda.current_stream())
    busy = heavy @ heavy  # keeps the main stream behind the host
    loss = model(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    del x
    if step % 4 == 3:
        loss.item()
    common.step()
common.save("c40_record_stream", __file__, {"verdict": "healthy", "kind": "pending frees"})
