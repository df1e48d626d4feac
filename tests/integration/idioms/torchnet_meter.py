"""A meter of torchnet."""

# expect loss = loss[ =:]+(\S+?)[,\s]

import random

from torchnet import meter as tnt

rng = random.Random(0)
weight = 0.0
meter = tnt.AverageValueMeter()
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    meter.add(loss)
    print('loss: %.4f ' % meter.value()[0])
    meter.reset()
