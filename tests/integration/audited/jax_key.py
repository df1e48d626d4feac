# absent: augment
import jax
import jax.numpy as jnp

key = jax.random.PRNGKey(0)  # pins init shuffle

init_key, order_key = jax.random.split(key)
x = jnp.linspace(-1, 1, 40)
y = 3 * x
weight = jax.random.normal(init_key)
for epoch in range(4):
    order_key, step_key = jax.random.split(order_key)
    for i in jax.random.permutation(step_key, len(x))[:10]:
        weight = weight - 0.01 * 2 * x[i] * (weight * x[i] - y[i])
    loss = jnp.mean((weight * x - y) ** 2)
    print(f"epoch {epoch} loss {loss:.4f}")
