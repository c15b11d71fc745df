"""A ring of 2,000 events on a run with many more: the oldest are lost, frees without their allocation remain."""
import common, tinynet
common.start(n=2000)
model, opt = tinynet.make()
tinynet.train(model, opt, 60)
common.save("x2_overflow", __file__, {"verdict": "special", "kind": "overflow"})
