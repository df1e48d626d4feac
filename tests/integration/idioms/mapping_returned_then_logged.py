"""A mapping that another function returns."""

# expect loss = loss[ =:]+(\S+?)[,\s]
# expect gap = gap (\S+)

import random

import wandb

rng = random.Random(0)
weight = 0.0
def evaluate(weight):
    return {'loss': (weight - 3) ** 2, 'gap': abs(weight - 3)}
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    wandb.log(evaluate(weight))
