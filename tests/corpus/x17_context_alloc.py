"""context="alloc": a free shows the stack of its allocation."""
import common, tinynet
common.start(context="alloc")
model, opt = tinynet.make()
tinynet.train(model, opt, 20)
common.save("x17_context_alloc", __file__, {"verdict": "special", "kind": "alloc context"})
