"""An EMA copy of the model is made once, at step 10, and updated in place from then on."""
import copy, torch, common
from torch import nn
from common import DEV

common.start()
model = nn.Sequential(nn.Linear(64, 512), nn.Mish(), nn.Linear(512, 512), nn.Mish(), nn.Linear(512, 64)).to(DEV)
opt, ema = torch.optim.Adam(model.parameters()), None
for step in range(60):
    clean = torch.randn(128, 64, device=DEV)
    noise = torch.randn_like(clean)
    loss = nn.functional.mse_loss(model(clean + noise), noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step == 10:
        ema = copy.deepcopy(model)
    elif ema is not None:
        with torch.no_grad():
            for a, b in zip(ema.parameters(), model.parameters()):
                a.lerp_(b, 0.01)
    common.step()
common.save("c41_ema_copy", __file__, {"verdict": "healthy", "kind": "one-time copy"})
