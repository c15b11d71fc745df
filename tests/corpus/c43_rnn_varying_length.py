"""GRU tagger on sentences of 10 to 120 tokens; every batch has another length, as sentences do."""
import random, torch, common
from torch import nn
from common import DEV

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.gru, self.out = nn.Embedding(2000, 64), nn.GRU(64, 96, bidirectional=True, batch_first=True), nn.Linear(192, 17)
    def forward(self, t):
        return self.out(self.gru(self.emb(t))[0])

common.start()
random.seed(9)
model = Tagger().to(DEV)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(60):
    t = random.randint(10, 120)
    words, tags = torch.randint(0, 2000, (24, t), device=DEV), torch.randint(0, 17, (24, t), device=DEV)
    loss = nn.functional.cross_entropy(model(words).flatten(0, 1), tags.flatten())
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    common.step()
common.save("c43_rnn_varying_length", __file__, {"verdict": "healthy", "kind": "varying length"})
