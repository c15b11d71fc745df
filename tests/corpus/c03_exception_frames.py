"""Scoring service; rejected requests are kept as exception objects, whose tracebacks hold the frame with its tensors."""
import torch, traceback, common
from torch import nn
from common import DEV

encoder = nn.Sequential(nn.Conv1d(8, 32, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(16), nn.Flatten(), nn.Linear(512, 256))
head = nn.Linear(256, 40)

def score(signal, request):
    with torch.no_grad():
        features = encoder(signal)  # LEAK
        probs = head(features).softmax(-1)  # ACCEPT
        if request % 3 == 0:
            raise ValueError(f"request {request}: no class is likely enough")
        return probs.argmax(-1)

common.start()
encoder.to(DEV), head.to(DEV)
rejected, served = [], 0
for request in range(240):
    signal = torch.randn(32, 8, 400, device=DEV)  # LEAK
    try:
        served += len(score(signal, request))
    except ValueError as e:
        rejected.append(e)
    common.step()
held = [v for e in rejected for f, _ in traceback.walk_tb(e.__traceback__) if f.f_code.co_name == "score"
        for v in f.f_locals.values() if isinstance(v, torch.Tensor)]
truth = {"leak_bytes_total": common.nbytes(held), "leak_blocks": common.count(held)}
del held
common.save("c03_exception_frames", __file__, dict(truth, verdict="leak", kind="tensor retention",
            accept_kinds=["tensor retention", "exception"]))
