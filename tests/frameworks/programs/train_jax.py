# SPDX-License-Identifier: MIT
"""JAX: a small regression with jit and grad. On the CPU JAX allocates from libc, which is not recorded; on a card its pool is."""

import json
import os
import sys
import time

import jax
import jax.numpy as np

WIDTH = int(os.environ.get("FRAMEWORK_WIDTH", "64"))


def loss(weights, x, y):
    return np.mean((np.tanh(x @ weights["a"]) @ weights["b"] - y) ** 2)


@jax.jit
def update(weights, x, y):
    value, gradient = jax.value_and_grad(loss)(weights, x, y)
    return jax.tree_util.tree_map(lambda w, g: w - 0.01 * g, weights, gradient), value


def main():
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    weights = {"a": jax.random.normal(keys[0], (WIDTH, WIDTH)) * 0.1, "b": jax.random.normal(keys[1], (WIDTH, 1)) * 0.1}
    x = jax.random.normal(keys[2], (4 * WIDTH, WIDTH))
    y = x.sum(1, keepdims=True)
    values = []
    if sys.argv[1:] == ["use"]:
        import stormlog

        recording = stormlog.record()
    for _ in range(24):
        weights, value = update(weights, x, y)
        values.append(float(value))
        if sys.argv[1:] == ["use"]:
            stormlog.step()
    stats = jax.devices()[0].memory_stats() or {}
    facts = {"learned": values[-1] < values[0], "backend": jax.default_backend(), "pool": stats.get("pool_bytes"),
             "peak_pool": stats.get("peak_pool_bytes"),
             "in_use": stats.get("bytes_in_use")}
    if sys.argv[1:] == ["use"]:
        facts["path"] = recording.path
        recording.stop()
    print("FACTS " + json.dumps(facts), flush=True)


if __name__ == "__main__":
    main()
    time.sleep(0.5)  # until the card has been read once more
