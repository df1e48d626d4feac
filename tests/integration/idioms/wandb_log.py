"""A mapping for Weights & Biases."""

# expect loss = loss[ =:]+(\S+?)[,\s]

import random

import wandb

rng = random.Random(0)
weight = 0.0
wandb.init(project='small')
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    wandb.log({'epoch': epoch, 'loss': loss})
