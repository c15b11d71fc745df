"""Expandable segments under varying batches with empty_cache in between: many maps and unmaps."""
import os, random
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"
import torch, common, tinynet
common.start()
random.seed(1)
model, opt = tinynet.make()
kept = []
for turn in range(10):
    wave = [torch.empty(random.randint(1, 30) << 20, dtype=torch.uint8, device=common.DEV) for _ in range(6)]
    kept.append(wave.pop(random.randrange(6)))
    tinynet.train(model, opt, 2, batch=random.randint(16, 512))
    del wave
    if len(kept) > 3:
        kept.pop(0)
    if not common.DRY:
        torch.cuda.empty_cache()
common.save("x18_expandable_varying", __file__, {"verdict": "special", "kind": "expandable segments"})
