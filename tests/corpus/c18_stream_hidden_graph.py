"""Speech streaming; the GRU's hidden state is carried from chunk to chunk with its graph, as nobody said no_grad."""
import torch, common
from torch import nn
from common import DEV

class Streamer(nn.Module):
    def __init__(self):
        super().__init__()
        self.front, self.cell, self.out = nn.Linear(80, 96), nn.GRUCell(96, 128), nn.Linear(128, 40)
        self.hidden = None
    def forward(self, frames):
        scores = []
        for frame in frames.unbind(1):
            self.hidden = self.cell(self.front(frame).relu(), self.hidden)  # LEAK
            scores.append(self.out(self.hidden))
        return torch.stack(scores, 1).argmax(-1)

common.start()
model = Streamer().to(DEV).eval()
for chunk in range(100):
    frames = torch.randn(8, 3, 80, device=DEV)  # ACCEPT
    words = model(frames)  # ACCEPT
    common.step()
common.save("c18_stream_hidden_graph", __file__, {"verdict": "leak", "kind": "graph retention", "accept_steps": [100, 300],
            "leak_bytes_per_step": common.slope()})
