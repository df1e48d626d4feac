"""Scalars of tensorboardX."""

# expect train/loss = train/loss (\S+)

import random

from tensorboardX import SummaryWriter

rng = random.Random(0)
weight = 0.0
writer = SummaryWriter('runs')
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    writer.add_scalar('train/loss', loss, epoch)
