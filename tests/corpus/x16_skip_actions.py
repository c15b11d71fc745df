"""skip_actions=["free_requested"] (torch 2.11): the pair of events of a free is only half there."""
import common, tinynet
try:
    common.start(skip_actions=["free_requested"])
except (TypeError, RuntimeError, ValueError) as e:
    common.skip(f"skip_actions: {e}")
model, opt = tinynet.make()
tinynet.train(model, opt, 20)
common.save("x16_skip_actions", __file__, {"verdict": "special", "kind": "skipped actions"})
