"""LSTM language model; validation sums losses as tensors, without no_grad: total_loss keeps every batch's graph."""
import torch, common
from torch import nn
from common import DEV

class CharLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.lstm, self.out = nn.Embedding(96, 64), nn.LSTM(64, 128, batch_first=True), nn.Linear(128, 96)
    def forward(self, t):
        h, _ = self.lstm(self.emb(t))  # LEAK
        return self.out(h)  # LEAK

common.start()
model = CharLSTM().to(DEV)
model.eval()
total_loss = torch.zeros((), device=DEV)
for batch in range(100):
    text = torch.randint(0, 96, (16, 65), device=DEV)  # ACCEPT
    logits = model(text[:, :-1])  # ACCEPT
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())  # LEAK
    total_loss = total_loss + loss  # ACCEPT
    common.step()
common.save("c08_total_loss_graph", __file__, {"verdict": "leak", "kind": "graph retention",
            "leak_bytes_per_step": common.slope()})
