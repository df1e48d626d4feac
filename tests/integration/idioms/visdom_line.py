"""A point of a Visdom line."""

# expect loss = loss[ =:]+(\S+?)[,\s]

import random

from visdom import Visdom

rng = random.Random(0)
weight = 0.0
vis = Visdom()
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    vis.line(Y=[loss], X=[epoch], win='loss', update='append')
