"""Anomaly mode: backward's allocations carry forward_frames (torch 2.11)."""
import torch, common, tinynet
common.start()
model, opt = tinynet.make(64)
with torch.autograd.set_detect_anomaly(True):
    tinynet.train(model, opt, 8)
common.save("x14_forward_frames", __file__, {"verdict": "special", "kind": "forward frames"})
