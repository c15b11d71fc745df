"""Text classifier with batches of 8 to 96; losses stay on the GPU as scalars: 4 bytes asked, 512 bytes taken, each step."""
import random, torch, common
from torch import nn
from common import DEV

class BagOfWords(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.fc = nn.EmbeddingBag(3000, 64), nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 5))
    def forward(self, words):
        return self.fc(self.emb(words))

def train_step(model, opt, words, label):
    loss = nn.functional.cross_entropy(model(words), label)  # LEAK
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.detach()

common.start()
random.seed(5)
model = BagOfWords().to(DEV)
opt, losses = torch.optim.Adam(model.parameters()), []
for step in range(70):
    n = random.randint(8, 96)
    words, label = torch.randint(0, 3000, (n, 40), device=DEV), torch.randint(0, 5, (n,), device=DEV)
    losses.append(train_step(model, opt, words, label))  # ACCEPT
    common.step()
common.save("c13_metric_scalars", __file__, {"verdict": "leak", "kind": "tensor retention", "leak_rounded_bytes_per_step": 512, "noisy": True,
            "leak_bytes_total": common.nbytes(losses), "leak_blocks": common.count(losses)})
