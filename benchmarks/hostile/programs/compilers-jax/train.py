from functools import partial

import jax
import jax.numpy as jnp
import numpy as np


@partial(jax.jit, static_argnames="rate")
def step(key, w, x, rate=0.2):
    def loss_of(w):
        noise = 0.01 * jax.random.normal(key, x.shape)
        return jnp.mean(((x + noise) @ w - x.sum(1)) ** 2)

    loss, gradient = jax.value_and_grad(loss_of)(w)
    jax.debug.callback(lambda value: print(f"  inside: {value:.5f}"), loss)
    return w - rate * gradient, loss


key = jax.random.PRNGKey(0)
key, sub = jax.random.split(key)
x, w, losses = jax.random.normal(sub, (32, 3)), jnp.zeros(3), []
for epoch in range(4):
    key, sub = jax.random.split(key)
    w, loss = step(sub, w, x)
    losses.append(float(loss))
    jax.effects_barrier()
    print(f"epoch {epoch} loss {loss:.5f}")
np.save("losses.npy", losses)
