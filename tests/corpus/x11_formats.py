"""One small snapshot in three forms: pickle protocols 5 and 2, and JSON."""
import common, tinynet
common.start()
model, opt = tinynet.make(64)
tinynet.train(model, opt, 8)
common.save({"x11_proto5": 5, "x12_proto2": 2, "x13_json": None}, __file__, {"verdict": "special", "kind": "file form"})
