"""Tags set with _set_memory_metadata stand in each event's user_metadata."""
import torch, common, tinynet
tag = getattr(torch.cuda.memory, "_set_memory_metadata", None)
if tag is None and not common.DRY:
    common.skip("no _set_memory_metadata in this torch")
tag = tag or (lambda s: None)
common.start()
tag("build")
model, opt = tinynet.make(64)
for epoch in range(4):
    tag(f"epoch {epoch}")
    tinynet.train(model, opt, 3)
tag("")
common.save("x15_user_metadata", __file__, {"verdict": "special", "kind": "user metadata"})
