# SPDX-License-Identifier: MIT
"""TensorFlow on the CPU: Keras trains; through stormlog.tensorflow. There is no allocator of ours to watch: what is seen is the process."""

import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy  # noqa: E402
import tensorflow  # noqa: E402

MIB = 1 << 20
GROWN = 256


def train():
    model = tensorflow.keras.Sequential([tensorflow.keras.layers.Dense(32, activation="relu"), tensorflow.keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    x = numpy.random.default_rng(0).normal(size=(256, 16)).astype("float32")
    model.fit(x, x.sum(1, keepdims=True), epochs=2, batch_size=32, verbose=0)
    return model


def main():
    if sys.argv[1:] != ["use"]:
        kept = train()
        print("FACTS {}", flush=True)
        return kept
    from stormlog.tensorflow import TensorFlowMemoryTracker, TFMemoryProfiler, get_system_info

    profiler = TFMemoryProfiler()
    with profiler.profile_context("train"):
        kept = train()
    tracker = TensorFlowMemoryTracker(sampling_interval=0.05)
    tracker.start_tracking()
    before = tracker.get_current_memory()
    grown = tensorflow.ones((GROWN * MIB // 4,))
    after = tracker.get_current_memory()
    result = tracker.stop_tracking()
    found = profiler.get_results()
    info = get_system_info()
    print("FACTS " + json.dumps({"device": profiler.device, "grown_mib": after - before, "tensor_mib": float(grown.shape[0]) * 4 / MIB,
                                 "samples": len(result.memory_usage), "peak_mb": result.peak_memory,
                                 "profiled": list(found.function_profiles) or
                                 [snapshot.name for snapshot in found.snapshots], "backend": info["backend"]["runtime_backend"],
                                 "version": info["tensorflow_version"]}), flush=True)
    return kept


if __name__ == "__main__":
    kept_to_the_end = main()
