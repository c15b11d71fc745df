"""context=None: events without frames."""
import common, tinynet
common.start(context=None)
model, opt = tinynet.make()
tinynet.train(model, opt, 30)
common.save("x3_context_none", __file__, {"verdict": "special", "kind": "no frames"})
