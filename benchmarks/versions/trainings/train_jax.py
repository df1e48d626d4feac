"""A small network in JAX that draws for initialisation, shuffling and dropout, all from one key."""

import jax
import jax.numpy as jnp

init_key, order_key, dropout_key = jax.random.split(jax.random.PRNGKey(0), 3)
x = jnp.linspace(-1, 1, 96 * 8).reshape(96, 8)
y = (x.sum(1) > 0).astype(float)
weights = {"hidden": jax.random.normal(init_key, (8, 16)) * 0.3, "out": jnp.zeros(16)}


def dropout(hidden, key):
    return jnp.where(jax.random.bernoulli(key, 0.7, hidden.shape), hidden, 0.0)


@jax.jit
def train_step(weights, inputs, targets, key):
    def loss_of(weights):
        hidden = dropout(jax.nn.relu(inputs @ weights["hidden"]), key)
        return ((hidden @ weights["out"] - targets) ** 2).mean()

    gradients = jax.grad(loss_of)(weights)
    return {name: weights[name] - 0.1 * gradients[name] for name in weights}


def evaluate(weights):
    return ((jax.nn.relu(x @ weights["hidden"]) @ weights["out"] - y) ** 2).mean()


for epoch in range(3):
    order_key, key = jax.random.split(order_key)
    order = jax.random.permutation(key, 96)
    for start in range(0, 96, 16):
        batch = order[start : start + 16]
        dropout_key, key = jax.random.split(dropout_key)
        weights = train_step(weights, x[batch], y[batch], key)
    loss = float(evaluate(weights))
    print(f"epoch {epoch} loss {loss!r}")
