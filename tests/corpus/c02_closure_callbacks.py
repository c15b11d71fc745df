"""Autoencoder; every step registers a callback whose closure captures an error map on the GPU."""
import torch, common
from torch import nn
from common import DEV

class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 16))
        self.dec = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 784), nn.Sigmoid())
    def forward(self, x):
        return self.dec(self.enc(x))

def make_reporter(step, recon, x):
    error_map = (recon.detach() - x).abs()  # LEAK
    def report():
        return step, float(error_map.max())
    held.append(error_map)
    return report

common.start()
model = AutoEncoder().to(DEV)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
on_exit, held = [], []
for step in range(50):
    x = torch.rand(128, 784, device=DEV)
    recon = model(x)
    loss = nn.functional.mse_loss(recon, x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    on_exit.append(make_reporter(step, recon, x))
    common.step()
truth = {"leak_bytes_total": common.nbytes(held), "leak_blocks": common.count(held)}
held.clear()
common.save("c02_closure_callbacks", __file__, dict(truth, verdict="leak", kind="tensor retention"))
