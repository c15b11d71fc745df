"""History is switched on after the model exists and has been trained: a base of older blocks, some freed later inside the trace."""
import torch, common, tinynet
torch.manual_seed(0)
model, opt = tinynet.make()
old = [torch.zeros(1000 * (i + 1), device=common.DEV) for i in range(8)]
for p in model.parameters():
    p.grad = torch.zeros_like(p)
base = 0 if common.DRY else torch.cuda.memory_stats()["requested_bytes.all.current"]
common.start()
tinynet.train(model, opt, 20)
del old[::2]
common.save("x5_late_start", __file__, {"verdict": "special", "kind": "late start", "requested_bytes_at_start": base})
