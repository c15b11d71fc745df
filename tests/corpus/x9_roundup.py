"""roundup_power2_divisions:4 and max_split_size_mb:64: blocks far larger than their requests, oversize blocks that are not split."""
import os
CONF = "roundup_power2_divisions:4,max_split_size_mb:64"
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = CONF
import torch, common, tinynet
common.start()
model, opt = tinynet.make()
tinynet.train(model, opt, 20)
kept = [torch.empty(1000 + 333_333 * i, device=common.DEV) for i in range(12)]
big = [torch.empty(n << 20, dtype=torch.uint8, device=common.DEV) for n in (65, 70, 97)]
del big[1], kept[::3]
again = torch.empty(66 << 20, dtype=torch.uint8, device=common.DEV)
common.save("x9_roundup", __file__, {"verdict": "special", "kind": "allocator settings", "conf": CONF})
