# SPDX-License-Identifier: MIT
"""JAX without PyTorch: a leak seen through the driver's calls, with the line of Python that made them.

    XLA_PYTHON_CLIENT_ALLOCATOR=platform stormlog run -o runs/jax -- python3 jax_training.py

By default XLA takes three quarters of the card at once and hands out blocks from that by itself: the recording then shows one
large block. With the platform allocator every array is a call of the driver. The leak: a history of gradients that stay on the card.
"""

import jax
import jax.numpy as jnp
import stormlog

WIDTH = 2048


def loss_of(weights, inputs):
    return jnp.mean(jnp.tanh(inputs @ weights) ** 2)


def main(steps=30):
    gradient_of = jax.jit(jax.grad(loss_of))
    weights = jax.random.normal(jax.random.PRNGKey(0), (WIDTH, WIDTH)) * 0.02
    history = []
    for step in range(steps):
        inputs = jax.random.normal(jax.random.PRNGKey(step), (256, WIDTH))
        gradient = gradient_of(weights, inputs)
        history.append(gradient)
        weights = weights - 0.1 * gradient
        weights.block_until_ready()
        stormlog.step(step)
    print(f"{len(history)} gradients of {history[0].nbytes / 1024 ** 2:.0f} MiB are kept on {history[0].devices()}")


main()
