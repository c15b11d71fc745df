"""Retrieval; an LRU cache of 24 document vectors fills up in the first third of the run and then stays as large as it is."""
import collections, random, torch, common
from torch import nn
from common import DEV

class LRU(collections.OrderedDict):
    def lookup(self, key, make, bound=24):
        if key not in self:
            self[key] = make(key)
            if len(self) > bound:
                self.popitem(last=False)
        self.move_to_end(key)
        return self[key]

common.start()
random.seed(4)
encoder = nn.Sequential(nn.Linear(200, 400), nn.ReLU(), nn.Linear(400, 512)).to(DEV)
cache, best = LRU(), 0.0

@torch.no_grad()
def encode(doc):
    return encoder(torch.full((64, 200), doc / 100, device=DEV))

for request in range(120):
    with torch.no_grad():
        query = encoder(torch.randn(1, 200, device=DEV))
        docs = [cache.lookup(random.randint(0, 60), encode) for _ in range(2)]
        best = max(best, max((d @ query.T).max().item() for d in docs))
    common.step()
common.save("c38_lru_bounded", __file__, {"verdict": "healthy", "kind": "bounded cache"})
