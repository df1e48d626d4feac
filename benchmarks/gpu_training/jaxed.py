import jax
import jax.numpy as jnp
import numpy as np

print(jax.devices())
rng = np.random.default_rng(0)
x = rng.normal(size=(512, 16)).astype(np.float32)
y = (x[:, 0] * x[:, 1] > 0).astype(np.int32)
k1, k2 = jax.random.split(jax.random.PRNGKey(0))
params = [jax.random.normal(k1, (16, 64)) * 0.2, jax.random.normal(k2, (64, 2)) * 0.2]
seg = jnp.asarray(rng.integers(0, 8, 512))


def logits(p, x):
    h = jnp.tanh(x @ p[0])
    pooled = jnp.zeros((8, 64)).at[seg[: len(x)]].add(h)
    return (h + 0.01 * pooled[seg[: len(x)]]) @ p[1]


@jax.jit
def step(p, x, y):
    def loss(p):
        return -jnp.mean(jax.nn.log_softmax(logits(p, x))[jnp.arange(len(y)), y])

    value, grads = jax.value_and_grad(loss)(p)
    return value, [a - 0.5 * g for a, g in zip(p, grads)]


for epoch in range(6):
    for i in rng.permutation(8):
        value, params = step(params, x[i * 64 : i * 64 + 64], y[i * 64 : i * 64 + 64])
    acc = float((logits(params, x).argmax(1) == y).mean())
    print(f"epoch {epoch} loss {float(value):.7f} accuracy {acc:.4f}")
