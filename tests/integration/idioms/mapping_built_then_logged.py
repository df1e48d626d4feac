"""A mapping that is filled and then logged."""

# expect loss = loss[ =:]+(\S+?)[,\s]
# expect gap = gap (\S+)

import random

import wandb

rng = random.Random(0)
weight = 0.0

for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    stats = {}
    stats['loss'] = loss
    stats['gap'] = abs(weight - 3)
    wandb.log(stats)
