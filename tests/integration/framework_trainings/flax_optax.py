"""A small classifier in Flax, trained with Optax in a compiled step."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(16)(x))
        return nn.Dense(3)(x)


def make_data(rng, size):
    x = jax.random.normal(rng, (size, 8))
    return x, jnp.argmax(x[:, :3], axis=1)


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
def eval_step(state, x, y):
    return compute_metrics(state.apply_fn({"params": state.params}, x), y)


def train_epoch(state, x, y, batch_size, rng):
    order = jax.random.permutation(rng, len(x)).reshape(-1, batch_size)
    batch_metrics = []
    for batch in order:
        state, metrics = train_step(state, x[batch], y[batch])
        batch_metrics.append(metrics)
    batch_metrics = jax.device_get(batch_metrics)
    return state, {key: sum(m[key] for m in batch_metrics) / len(batch_metrics) for key in batch_metrics[0]}


def main():
    rng = jax.random.PRNGKey(0)
    rng, init_rng, train_rng, test_rng = jax.random.split(rng, 4)
    x, y = make_data(train_rng, 128)
    x_test, y_test = make_data(test_rng, 64)
    model = MLP()
    params = model.init(init_rng, x[:1])["params"]
    state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(1e-2))
    for epoch in range(1, 4):
        rng, input_rng = jax.random.split(rng)
        state, train_metrics = train_epoch(state, x, y, 32, input_rng)
        test_metrics = jax.device_get(eval_step(state, x_test, y_test))
        print(
            "train epoch: %d, loss: %.6f, accuracy: %.2f"
            % (epoch, train_metrics["loss"], train_metrics["accuracy"] * 100)
        )
        print(
            " test epoch: %d, loss: %.6f, accuracy: %.2f"
            % (epoch, test_metrics["loss"], test_metrics["accuracy"] * 100)
        )


if __name__ == "__main__":
    main()
