"""enabled="state": blocks and segments have stacks, the event list has at most one stale entry."""
import common, tinynet
common.start(enabled="state")
model, opt = tinynet.make()
tinynet.train(model, opt, 20)
common.save("x1_state_mode", __file__, {"verdict": "special", "kind": "state mode"})
