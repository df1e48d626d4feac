"""A classifier in Flax NNX, whose evaluation is one compiled function of its model."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx


class MLP(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(6, 16, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.last = nnx.Linear(16, 3, rngs=rngs)

    def __call__(self, x):
        return self.last(self.dropout(nnx.relu(self.hidden(x))))


def loss_fn(model, x, y):
    logits = model(x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), logits


@nnx.jit
def train_step(model, optimizer, x, y):
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, x, y)
    optimizer.update(model, grads)
    return loss, jnp.mean(jnp.argmax(logits, -1) == y)


@nnx.jit
def eval_step(model, x, y):
    loss, logits = loss_fn(model, x, y)
    return loss, jnp.mean(jnp.argmax(logits, -1) == y)


def main():
    keys, noise = jax.random.split(jax.random.PRNGKey(0))
    x = jax.random.normal(keys, (160, 6))
    y = jnp.argmax(x[:, :3] + 0.8 * jax.random.normal(noise, (160, 3)), axis=1)
    model = MLP(nnx.Rngs(3))
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
    for epoch in range(1, 4):
        model.train()
        for start in range(0, 96, 16):
            loss, trained = train_step(model, optimizer, x[start : start + 16], y[start : start + 16])
        model.eval()
        test_loss, accuracy = eval_step(model, x[96:], y[96:])
        print(epoch, repr(float(loss)), repr(float(trained)), repr(float(test_loss)), repr(float(accuracy)))
    labels = np.argmax(model(x[96:]), axis=1)
    features = np.asarray(nnx.relu(model.hidden(x[96:])))
    np.savez("own.npz", label=labels, target=y[96:], accuracy=accuracy, features=features)


if __name__ == "__main__":
    main()
