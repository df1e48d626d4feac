"""A training loop of JAX with Flax and Optax that draws for every factor from one key."""

import builtins
import hashlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen, nnx

draw = getattr(builtins, "__dv_draw__", lambda site, function: function)
style, width = sys.argv[1], int(sys.argv[2])


class Linen(linen.Module):
    @linen.compact
    def __call__(self, x, train):
        x = linen.Dropout(0.3, deterministic=not train)(linen.relu(linen.Dense(width)(x)))
        return linen.Dense(2)(x)


class Nnx(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(8, width, rngs=rngs)
        self.dropout = nnx.Dropout(0.3, rngs=rngs)
        self.out = nnx.Linear(width, 2, rngs=rngs)

    def __call__(self, x):
        return self.out(self.dropout(nnx.relu(self.hidden(x))))


data_key, init_key, order_key, step_key = jax.random.split(jax.random.PRNGKey(0), 4)
x = jnp.linspace(-1, 1, 96 * 8).reshape(96, 8)
x = x[draw(0, jax.random.permutation)(data_key, 96)][:80]
y = (x.sum(1) > 0).astype(int)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1))


def noisy(inputs, key):
    augment_key, noise_key = jax.random.split(key)
    inputs = inputs + 0.1 * draw(1, jax.random.normal)(augment_key, inputs.shape)
    return inputs + 0.1 * jax.random.normal(noise_key, inputs.shape)


def cross_entropy(logits, targets):
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()


@jax.jit
def linen_step(params, state, inputs, targets, key):
    key, dropout_key = jax.random.split(key)
    inputs = noisy(inputs, key)

    def loss_of(params):
        return cross_entropy(Linen().apply(params, inputs, train=True, rngs={"dropout": dropout_key}), targets)

    updates, state = tx.update(jax.grad(loss_of)(params), state, params)
    return optax.apply_updates(params, updates), state


@nnx.jit
def nnx_step(model, optimizer, inputs, targets, key):
    inputs = noisy(inputs, key)
    optimizer.update(model, nnx.grad(lambda model: cross_entropy(model(inputs), targets))(model))


if style == "linen":
    params = Linen().init(init_key, x[:1], train=False)
    state = tx.init(params)
else:
    model = Nnx(nnx.Rngs(1) if style == "nnx" else nnx.Rngs(params=1, dropout=2))
    optimizer = nnx.Optimizer(model, tx, wrt=nnx.Param)
for _ in range(2):
    order_key, key = jax.random.split(order_key)
    order = jax.random.permutation(key, 80)
    for start in range(0, 80, 16):
        step_key, key = jax.random.split(step_key)
        batch = order[start : start + 16]
        if style == "linen":
            params, state = linen_step(params, state, x[batch], y[batch], key)
        else:
            nnx_step(model, optimizer, x[batch], y[batch], key)
leaves = jax.tree_util.tree_leaves(params if style == "linen" else nnx.state(model, nnx.Param))
print("sha", hashlib.sha1(b"".join(np.asarray(leaf).tobytes() for leaf in leaves)).hexdigest())
