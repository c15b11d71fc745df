"""A snapshot in the middle of the run leaves a `snapshot` event in the trace of the second one."""
import torch, common, tinynet
common.start()
model, opt = tinynet.make()
tinynet.train(model, opt, 12)
first = 0 if common.DRY else len(torch.cuda.memory._snapshot()["device_traces"][0])
tinynet.train(model, opt, 12)
common.save("x4_two_dumps", __file__, {"verdict": "special", "kind": "two dumps", "snapshot_event_index": first})
