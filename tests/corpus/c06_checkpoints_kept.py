"""Small MLP-mixer; every epoch a copy of the weights stays on the GPU 'to pick the best one at the end'."""
import torch, common
from torch import nn
from common import DEV
EPOCHS, PER_EPOCH = 12, 4

class Mixer(nn.Module):
    def __init__(self, patches=32, dim=96):
        super().__init__()
        self.stem = nn.Linear(48, dim)
        self.tokens = nn.Sequential(nn.Linear(patches, 64), nn.GELU(), nn.Linear(64, patches))
        self.channels = nn.Sequential(nn.Linear(dim, 192), nn.GELU(), nn.Linear(192, dim))
        self.head = nn.Linear(dim, 10)
    def forward(self, x):
        x = self.stem(x)
        x = x + self.tokens(x.transpose(1, 2)).transpose(1, 2)
        return self.head((x + self.channels(x)).mean(1))

def weights(model):
    return {k: v.detach().clone() for k, v in model.state_dict().items()}  # LEAK

common.start()
model = Mixer().to(DEV)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
checkpoints = []
for epoch in range(EPOCHS):
    for _ in range(PER_EPOCH):
        x, y = torch.randn(64, 32, 48, device=DEV), torch.randint(0, 10, (64,), device=DEV)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        common.step()
    checkpoints.append((epoch, weights(model)))  # ACCEPT
common.save("c06_checkpoints_kept", __file__, {"verdict": "leak", "kind": "tensor retention", "accept_kinds": ["tensor retention", "checkpoint"],
            "accept_steps": [EPOCHS * PER_EPOCH, EPOCHS],
            "leak_bytes_total": common.nbytes(checkpoints), "leak_blocks": common.count(checkpoints)})
