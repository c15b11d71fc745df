"""Image classifier; the evaluator collects probabilities, and nobody clears them after an evaluation."""
import torch, common
from torch import nn
from common import DEV

class Evaluator:
    def __init__(self, model):
        self.model, self.probs = model, []
    @torch.no_grad()
    def run(self, batches=4):
        self.model.eval()
        for _ in range(batches):
            logits = self.model(torch.randn(64, 1, 16, 16, device=DEV))
            self.probs.append(logits.softmax(-1))  # LEAK
        self.model.train()
        return torch.cat(self.probs).max(-1).values.mean().item()

common.start()
model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14 * 14, 200)).to(DEV)
opt, evaluator = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), Evaluator(model)
for step in range(60):
    x, y = torch.randn(32, 1, 16, 16, device=DEV), torch.randint(0, 200, (32,), device=DEV)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 4:
        evaluator.run()
    common.step()
common.save("c14_eval_accumulate", __file__, {"verdict": "leak", "kind": "tensor retention", "accept_steps": [60, 12],
            "leak_bytes_total": common.nbytes(evaluator.probs), "leak_blocks": common.count(evaluator.probs)})
