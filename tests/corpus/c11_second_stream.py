"""Teacher and student on two streams; the teacher's soft targets, allocated on the side stream, are all kept."""
import torch, common
from torch import nn
from common import DEV

class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 100))
    @torch.no_grad()
    def soft_targets(self, x):
        return self.net(x).div(2.0).softmax(-1)  # LEAK

common.start()
teacher, student = Teacher().to(DEV), nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 100)).to(DEV)
opt = torch.optim.AdamW(student.parameters())
side, on_side = common.side_stream()
targets = []
for step in range(60):
    x = torch.randn(256, 128, device=DEV)
    if side is not None:
        side.wait_stream(torch.cuda.current_stream())
    with on_side:
        targets.append(teacher.soft_targets(x))  # ACCEPT
    if side is not None:
        torch.cuda.current_stream().wait_stream(side)
    loss = nn.functional.kl_div(student(x).log_softmax(-1), targets[-1], reduction="batchmean")
    opt.zero_grad()
    loss.backward()
    opt.step()
    common.step()
common.save("c11_second_stream", __file__, {"verdict": "leak", "kind": "tensor retention",
            "leak_bytes_total": common.nbytes(targets), "leak_blocks": common.count(targets)})
