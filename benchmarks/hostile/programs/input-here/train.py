import sys
from array import array
from random import Random

rows = [tuple(map(float, line.split())) for line in sys.stdin]
slope = Random(1).uniform(2, 4)
losses = []
for epoch in range(4):
    loss = sum((slope * x - y) ** 2 for x, y in rows) / len(rows)
    slope += 0.1 * sum((y - slope * x) * x for x, y in rows) / len(rows)
    losses.append(loss)
    print(epoch, "loss", loss)
array("d", losses).tofile(open("losses.bin", "wb"))
