"""A moving window of the last twenty gradients' directions, kept on the GPU in a deque with a bound."""
import collections, torch, common
from torch import nn
from common import DEV

common.start()
model = nn.Sequential(nn.Linear(40, 256), nn.Tanh(), nn.Linear(256, 40)).to(DEV)
opt, window = torch.optim.Adadelta(model.parameters()), collections.deque(maxlen=20)
for step in range(80):
    x = torch.randn(96, 40, device=DEV)
    loss = nn.functional.huber_loss(model(x), x)
    opt.zero_grad()
    loss.backward()
    window.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    opt.step()
    common.step()
common.save("c42_deque_window", __file__, {"verdict": "healthy", "kind": "bounded window"})
