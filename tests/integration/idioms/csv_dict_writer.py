"""A row by column names."""

# expect loss = \n\d,(\S+)

import csv
import random

rng = random.Random(0)
weight = 0.0
stream = open('table.txt', 'w', newline='')
writer = csv.DictWriter(stream, ['epoch', 'loss'], lineterminator='\n')
writer.writeheader()
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    writer.writerow({'epoch': epoch, 'loss': loss})
    stream.flush()
