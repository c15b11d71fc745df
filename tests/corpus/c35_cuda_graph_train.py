"""Whole training step captured in a CUDA graph and replayed; an eager evaluation runs now and then. Private pool, few events."""
import torch, common
from torch import nn
from common import DEV

common.start()
model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)).to(DEV)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(64, 128, device=DEV), torch.randint(0, 10, (64,), device=DEV)

def train_step():
    opt.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    return loss

if common.DRY:
    replay = train_step
else:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            train_step()
    torch.cuda.current_stream().wait_stream(side)
    opt.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        static_loss = train_step()
    replay = graph.replay
for step in range(100):
    x.copy_(torch.randn(64, 128, device=DEV))
    y.copy_(torch.randint(0, 10, (64,), device=DEV))
    replay()
    if step % 5 == 0:
        with torch.no_grad():
            accuracy = (model(torch.randn(256, 128, device=DEV)).argmax(-1) == 0).float().mean().item()
    common.step()
common.save("c35_cuda_graph_train", __file__, {"verdict": "healthy", "kind": "CUDA graph", "accept_steps": [100, 20]})
