"""A buffer that is a little larger each time, under a tight limit: the cache must be given back to the driver before each one."""
import torch, common, tinynet
common.start()
common.limit(600)
model, opt = tinynet.make()
for turn in range(6):
    a = [torch.empty(100 << 20, dtype=torch.uint8, device=common.DEV) for _ in range(4)]
    tinynet.train(model, opt, 3)
    del a
    b = torch.empty((420 + 15 * turn) << 20, dtype=torch.uint8, device=common.DEV)
    tinynet.train(model, opt, 3)
    del b
common.save("x10_gc_retry", __file__, {"verdict": "special", "kind": "allocator retries"})
