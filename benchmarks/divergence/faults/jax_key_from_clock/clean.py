import time

import jax
import jax.numpy as jnp

seed = 5
key = jax.random.PRNGKey(seed)
x = jax.random.normal(key, (50, 5))
y = x @ jnp.arange(1.0, 6.0)


@jax.jit
def update(weights):
    return weights - 0.05 * jax.grad(lambda w: ((x @ w - y) ** 2).mean())(weights)


weights = jnp.zeros(5)
for step in range(20):
    weights = update(weights)
    print(f"loss {((x @ weights - y) ** 2).mean():.6f}")
