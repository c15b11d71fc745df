"""record_function ranges, recorded process-wide: external_annotations is filled."""
import torch, common, tinynet
common.start(global_record_annotations=True)
model, opt = tinynet.make()
for epoch in range(5):
    with torch.profiler.record_function(f"epoch {epoch}"):
        with torch.profiler.record_function("train"):
            tinynet.train(model, opt, 4)
        with torch.profiler.record_function("eval"), torch.no_grad():
            model(torch.randn(256, 128, device=common.DEV)).argmax(-1)
common.save("x7_annotations", __file__, {"verdict": "special", "kind": "annotations"})
