"""JAX with optax: weights, state of the optimizer and a key in a pickle."""

import os
import pickle

import jax
import jax.numpy as jnp
import optax

key = jax.random.PRNGKey(3)
key, first = jax.random.split(key)
x = jax.random.normal(first, (32, 3))
y = x @ jnp.array([1.0, -2.0, 0.5])
weights, start = jnp.zeros(3), 0
optimizer = optax.adam(0.1)
state = optimizer.init(weights)
if os.path.exists("ckpt.pkl"):
    with open("ckpt.pkl", "rb") as file:
        saved = pickle.load(file)
    start, weights = saved["epoch"], saved["weights"]
    state = saved["state"]  # restores variable state
    key = saved["key"]  # restores variable key
gradient = jax.jit(jax.value_and_grad(lambda w, noise: jnp.mean(((x + noise) @ w - y) ** 2)))
for epoch in range(start, 6):
    key, drawn = jax.random.split(key)
    loss, slope = gradient(weights, 0.1 * jax.random.normal(drawn, x.shape))
    updates, state = optimizer.update(slope, state)
    weights = optax.apply_updates(weights, updates)
    print(f"epoch {epoch} loss {float(loss):.6f}")
    with open("ckpt.pkl", "wb") as file:
        pickle.dump({"epoch": epoch + 1, "weights": weights, "state": state, "key": key}, file)
