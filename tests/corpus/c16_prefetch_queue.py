"""Prefetching loader thread; it brings two batches for each one that is used, into a queue without a bound."""
import queue, threading, torch, common
from torch import nn
from common import DEV

class Prefetcher:
    def __init__(self):
        self.ready, self.credit = queue.Queue(), threading.Semaphore(0)
        threading.Thread(target=self.work, daemon=True).start()
    def work(self):
        gen = torch.Generator().manual_seed(1)
        while True:
            self.credit.acquire()
            host = torch.randn(128, 64, generator=gen)
            self.ready.put((host.to(DEV, copy=True), (host.sum(1) > 0).long().to(DEV, copy=True)))  # LEAK
    def next(self):
        self.credit.release()
        self.credit.release()
        return self.ready.get()

common.start()
model = nn.Sequential(nn.Linear(64, 128), nn.ELU(), nn.Dropout(0.1), nn.Linear(128, 2)).to(DEV)
opt, loader = torch.optim.Adagrad(model.parameters(), lr=0.01), Prefetcher()
for step in range(60):
    x, y = loader.next()
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    common.step()
while loader.ready.qsize() < 60:
    pass
held = list(loader.ready.queue)
common.save("c16_prefetch_queue", __file__, {"verdict": "leak", "kind": "tensor retention", "accept_kinds": ["tensor retention", "queue"],
            "leak_bytes_total": common.nbytes(held), "leak_blocks": common.count(held)})
