"""JAX without preallocation: a jitted step whose results are kept."""
import os

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

import time

import jax
import jax.numpy as jnp


@jax.jit
def advance(state, weights):
    return jnp.tanh(state @ weights)


weights = jnp.ones((2048, 2048)) * 1e-3
state = jnp.ones((2048, 2048))
kept = []
for step in range(40):
    state = advance(state, weights)
    kept.append(state)
state.block_until_ready()
time.sleep(0.5)  # the counters are read ten times a second
os._exit(0)
