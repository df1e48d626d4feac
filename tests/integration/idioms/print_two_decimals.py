"""Formats of few decimals, and none."""

# expect loss = loss[ =:]+(\S+?)[,\s]
# expect gap = gap: (\S+)

import random

rng = random.Random(0)
weight = 0.0

for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    print(f'loss {loss:.2f}')
    print('gap: ' + str(abs(weight - 3)))
