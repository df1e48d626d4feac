"""Text that is formatted first and printed later."""

# expect loss = loss[ =:]+(\S+?)[,\s]

import random

rng = random.Random(0)
weight = 0.0

for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    output = ('epoch [{0}]\t'
              'loss {loss:.4f} ').format(epoch, loss=loss)
    if epoch >= 0:
        print(output)
