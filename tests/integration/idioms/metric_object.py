"""A metric object of a library."""

# expect loss = loss[ =:]+(\S+?)[,\s]

import random

import torchmetrics

rng = random.Random(0)
weight = 0.0
metric = torchmetrics.MeanMetric()
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    metric.update(loss)
    print(f'loss {metric.compute():.5f} ')
    metric.reset()
