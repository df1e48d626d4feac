"""Scalars of clu."""

# expect loss = loss[ =:]+(\S+?)[,\s]

import random

from clu import metric_writers

rng = random.Random(0)
weight = 0.0
writer = metric_writers.create_default_writer('logs')
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    writer.write_scalars(epoch, {'loss': loss})
