"""Disease progression of 442 diabetes patients: a small network written in plain JAX."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_diabetes

SEED = 0
NUM_EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
BATCH_SIZE = 32
LEARNING_RATE = 0.02
MOMENTUM = 0.9
LAYER_SIZES = [10, 32, 32, 1]
DROP_RATE = 0.1


def init_params(key):
    params = []
    for fan_in, fan_out in zip(LAYER_SIZES[:-1], LAYER_SIZES[1:]):
        key, subkey = jax.random.split(key)
        w = jax.random.normal(subkey, (fan_in, fan_out)) * jnp.sqrt(2.0 / fan_in)
        params.append((w, jnp.zeros(fan_out)))
    return params


def predict(params, x, key=None):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
        if key is not None:
            key, subkey = jax.random.split(key)
            keep = jax.random.bernoulli(subkey, 1 - DROP_RATE, x.shape)
            x = jnp.where(keep, x / (1 - DROP_RATE), 0.0)
    w, b = params[-1]
    return (x @ w + b)[:, 0]


def mse(params, x, y, key=None):
    return jnp.mean((predict(params, x, key) - y) ** 2)


@jax.jit
def train_step(params, velocity, x, y, key):
    loss, grads = jax.value_and_grad(mse)(params, x, y, key)
    velocity = jax.tree.map(lambda v, g: MOMENTUM * v - LEARNING_RATE * g, velocity, grads)
    params = jax.tree.map(jnp.add, params, velocity)
    return params, velocity, loss


@jax.jit
def evaluate(params, x, y):
    error = mse(params, x, y)
    return error, 1.0 - error / jnp.var(y)


def main():
    x, y = load_diabetes(return_X_y=True)
    x, y = (x / x.std(0)).astype(np.float32), ((y - y.mean()) / y.std()).astype(np.float32)
    order = np.random.default_rng(7).permutation(len(x))
    train_idx, test_idx = order[:352], order[352:]
    x_train, y_train, x_test, y_test = x[train_idx], y[train_idx], x[test_idx], y[test_idx]

    key = jax.random.PRNGKey(SEED)
    key, init_key = jax.random.split(key)
    params = init_params(init_key)
    velocity = jax.tree.map(jnp.zeros_like, params)

    for epoch in range(NUM_EPOCHS):
        key, perm_key = jax.random.split(key)
        perm = np.asarray(jax.random.permutation(perm_key, len(x_train)))
        losses = []
        for start in range(0, len(perm), BATCH_SIZE):
            batch = perm[start : start + BATCH_SIZE]
            key, drop_key = jax.random.split(key)
            params, velocity, loss = train_step(params, velocity, x_train[batch], y_train[batch], drop_key)
            losses.append(loss)
        train_loss = jnp.stack(losses).mean()
        test_mse, test_r2 = evaluate(params, x_test, y_test)
        print(f"[epoch {epoch:3d}] {train_loss=:.4f} | test mse {test_mse:.4f} | test R2 {test_r2:.4f}")


if __name__ == "__main__":
    main()
