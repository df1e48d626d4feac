"""A classifier in Flax: compiled steps, the metrics of which are computed by a function that both share.

Words: ``prints`` from within the evaluation, or has ``large`` arguments that this does not use.
"""

import sys

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(nn.relu(nn.Dense(16)(x)))


def compute_metrics(logits, labels):
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
    return {"loss": loss, "accuracy": jnp.mean(jnp.argmax(logits, -1) == labels)}


@jax.jit
def train_step(state, x, y):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), logits

    (_, logits), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads), compute_metrics(logits, y)


@jax.jit
def eval_step(state, x, y, unused):
    print("compiled")  # once, as it is traced
    if "prints" in sys.argv:
        jax.debug.print("evaluated {}", x.shape[0])
    return compute_metrics(state.apply_fn({"params": state.params}, x), y)


def main():
    init, keys, noise = jax.random.split(jax.random.PRNGKey(0), 3)
    x = jax.random.normal(keys, (160, 6))
    y = jnp.argmax(x[:, :3] + 0.8 * jax.random.normal(noise, (160, 3)), axis=1)
    model = MLP()
    params = model.init(init, x[:1])["params"]
    state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(1e-2))
    unused = np.zeros((1 << 26) + 1 if "large" in sys.argv else 1, np.float32)
    for epoch in range(1, 4):
        for start in range(0, 96, 16):
            state, train_metrics = train_step(state, x[start : start + 16], y[start : start + 16])
        test_metrics = jax.device_get(eval_step(state, x[96:], y[96:], unused))
        print(epoch, {key: repr(float(value)) for key, value in {**train_metrics, **test_metrics}.items()})
    labels = np.argmax(state.apply_fn({"params": state.params}, x[96:]), axis=1)
    weights = jax.device_get(state.params["Dense_1"])
    features = np.maximum(np.asarray(x[96:]) @ weights["kernel"] + weights["bias"], 0)
    np.savez("own.npz", label=labels, target=y[96:], accuracy=test_metrics["accuracy"], features=features)


if __name__ == "__main__":
    main()
