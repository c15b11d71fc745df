# SPDX-License-Identifier: MIT
"""CuPy: least squares by gradient descent. Its pool takes memory from the driver, and that is recorded."""

import json
import time

import cupy


def main():
    x = cupy.random.default_rng(0).standard_normal((4096, 512), dtype=cupy.float32)
    truth = cupy.arange(512, dtype=cupy.float32)
    y = x @ truth
    weights = cupy.zeros(512, dtype=cupy.float32)
    losses = []
    for _ in range(24):
        error = x @ weights - y
        losses.append(float((error * error).mean()))
        weights -= 0.1 * (x.T @ error) / len(x)
    pool = cupy.get_default_memory_pool()
    print("FACTS " + json.dumps({"learned": losses[-1] < losses[0], "pool": pool.total_bytes(), "in_use": pool.used_bytes()}), flush=True)
    return x, y, weights


if __name__ == "__main__":
    kept_to_the_end = main()
    time.sleep(0.5)  # until the card has been read once more
