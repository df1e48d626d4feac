"""The csv module."""

# expect loss = \n\d,(\S+)

import csv
import random

rng = random.Random(0)
weight = 0.0
stream = open('table.txt', 'w', newline='')
writer = csv.writer(stream, lineterminator='\n')
writer.writerow(['epoch', 'loss'])
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    writer.writerow([epoch, loss])
    stream.flush()
