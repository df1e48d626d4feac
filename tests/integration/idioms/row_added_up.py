"""A row of a table is added up of lists and written as one line."""

# expect loss = ^\d+,(\S+?),

import random

rng = random.Random(0)
weight = 0.0
with open('log.csv', 'w') as table:
    for epoch in range(3):
        x = rng.gauss(0, 1)
        gradient = 2 * x * x * (weight - 3)
        weight -= 0.1 * gradient
        loss = (weight - 3) ** 2
        row = [epoch] + [loss] + [''] * 2
        row = map(str, row)
        table.write(','.join(row) + '\n')
