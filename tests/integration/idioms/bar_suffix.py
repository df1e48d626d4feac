"""A text assigned to a bar."""

# expect loss = loss[ =:]+(\S+?)[,\s]

import random

from progress.bar import Bar

rng = random.Random(0)
weight = 0.0
bar = Bar('epoch', max=3)
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    bar.suffix = '({n}/3) loss: {loss:.4f} '.format(n=epoch, loss=loss)
    bar.next()
