"""Transformer-free text net; one sample in the middle of the run is twenty times longer than the others and fits."""
import torch, common
from torch import nn
from common import DEV

common.start()
emb = nn.Embedding(500, 128).to(DEV)
net = nn.Sequential(nn.Conv1d(128, 128, 3, padding=1), nn.GELU(), nn.Conv1d(128, 64, 3, padding=1)).to(DEV)
opt = torch.optim.SGD([*emb.parameters(), *net.parameters()], lr=0.01)
for step in range(60):
    text = torch.randint(0, 500, (16, 2560 if step == 37 else 128), device=DEV)
    loss = net(emb(text).transpose(1, 2)).pow(2).mean()  # ACCEPT
    opt.zero_grad()
    loss.backward()
    opt.step()
    common.step()
common.save("c39_one_long_sample", __file__, {"verdict": "healthy", "kind": "spike", "accept_verdicts": ["healthy", "spike"], "spike_step": 37})
