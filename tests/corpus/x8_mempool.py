"""Tensors of a user's MemPool beside ordinary training: private pool ids, and free blocks that eager code cannot use."""
import contextlib, torch, common, tinynet
common.start()
model, opt = tinynet.make()
pool = None if common.DRY else torch.cuda.MemPool()
with contextlib.nullcontext() if common.DRY else torch.cuda.use_mem_pool(pool):
    table = torch.randn(3_000_000, device=common.DEV)
    scratch = [torch.empty(700_000 * (i + 1), device=common.DEV) for i in range(4)]
del scratch[1:3]
tinynet.train(model, opt, 20)
common.save("x8_mempool", __file__, {"verdict": "special", "kind": "private pool", "pool_id": [] if common.DRY else list(pool.id)})
