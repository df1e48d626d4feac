"""A mapping whose keys a comprehension makes."""

# expect val/loss = val/loss (\S+)
# expect val/gap = val/gap (\S+)

import random

import wandb


def evaluate(weight):
    return {'loss': (weight - 3) ** 2, 'gap': abs(weight - 3)}


rng = random.Random(0)
weight = 0.0
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    metrics = evaluate(weight)
    wandb.log({f'val/{key}': value for key, value in metrics.items()})
