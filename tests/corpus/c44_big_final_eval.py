"""Training in small batches, then one evaluation of the whole test set in a single batch at the very end."""
import torch, common
from torch import nn
from common import DEV

common.start()
model = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Dropout(0.2), nn.Linear(512, 100)).to(DEV)
opt = torch.optim.AdamW(model.parameters())
for step in range(60):
    x, y = torch.randn(64, 128, device=DEV), torch.randint(0, 100, (64,), device=DEV)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    common.step()
with torch.no_grad():
    test = torch.randn(8192, 128, device=DEV)  # ACCEPT
    accuracy = (model.eval()(test).argmax(-1) == 0).float().mean().item()  # ACCEPT
common.save("c44_big_final_eval", __file__, {"verdict": "healthy", "kind": "spike", "accept_verdicts": ["healthy", "spike"]})
