"""Deep MLP with batches of 16 to 512 rows; 512 bytes of feature means stay behind in every step."""
import random, torch, common
from torch import nn
from common import DEV

class Drift:
    """Means of the features over the run, 'for the report'."""
    def __init__(self):
        self.means = []
    def observe(self, features):
        self.means.append(features.detach().mean(0))  # LEAK

common.start()
random.seed(3)
body = nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(512, 512), nn.ReLU())], nn.Linear(512, 128)).to(DEV)
head = nn.Linear(128, 20).to(DEV)
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)
drift = Drift()
for step in range(75):
    n = random.randint(16, 512)
    x, y = torch.randn(n, 512, device=DEV), torch.randint(0, 20, (n,), device=DEV)
    features = body(x)
    loss = nn.functional.cross_entropy(head(features), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    drift.observe(features)
    common.step()
common.save("c07_tiny_under_noise", __file__, {"verdict": "leak", "kind": "tensor retention", "noisy": True,
            "leak_bytes_total": common.nbytes(drift.means), "leak_blocks": common.count(drift.means)})
