"""A stack of wide layers that is larger than the card's share before anything runs. Cause: capacity."""
import torch, common
from torch import nn
from common import DEV
WIDTH = 256 if common.DRY else 4096

class Wide(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(layers):
            self.layers.append(nn.Linear(WIDTH, WIDTH, device=DEV))  # OOM
    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x

common.start()
common.limit(2048)
msg = "dry"
try:
    model = Wide(48)
    print("no OOM", model(torch.randn(8, WIDTH, device=DEV)).shape)
except common.OOM as e:
    msg = str(e)
    truth = {"model_bytes": 48 * (WIDTH + 1) * WIDTH * 4}
    # what the constructor had built is still held by the traceback, as in a crashed program
    common.save("c22_oom_capacity_build", __file__, dict(truth, verdict="oom", kind="capacity", oom_cause="capacity", message=msg,
                accept_causes=["capacity"], request_bytes=WIDTH * WIDTH * 4))
