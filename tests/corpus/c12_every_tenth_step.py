"""GAN; every tenth step a grid of generated samples is put on a list that nobody reads."""
import torch, common
from torch import nn
from common import DEV

common.start()
gen = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 784), nn.Tanh()).to(DEV)
disc = nn.Sequential(nn.Linear(784, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1)).to(DEV)
opt_g, opt_d = torch.optim.SGD(gen.parameters(), lr=1e-3), torch.optim.SGD(disc.parameters(), lr=1e-3)
bce, samples = nn.functional.binary_cross_entropy_with_logits, []
one, zero = torch.ones(64, 1, device=DEV), torch.zeros(64, 1, device=DEV)
fixed = torch.randn(64, 32, device=DEV)
for step in range(80):
    fake = gen(torch.randn(64, 32, device=DEV))
    loss_d = bce(disc(torch.rand(64, 784, device=DEV)), one) + bce(disc(fake.detach()), zero)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    loss_g = bce(disc(fake), one)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 10 == 0:
        with torch.no_grad():
            samples.append(gen(fixed))  # LEAK
    common.step()
common.save("c12_every_tenth_step", __file__, {"verdict": "leak", "kind": "tensor retention", "accept_steps": [80, 8],
            "leak_bytes_total": common.nbytes(samples), "leak_blocks": common.count(samples)})
