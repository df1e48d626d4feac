"""Names that are known at run time only."""

# expect train/loss = train/loss (\S+)
# expect train/gap = train/gap (\S+)

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
    for name, value in {'loss': loss, 'gap': abs(weight - 3)}.items():
        writer.add_scalar(f'train/{name}', value, epoch)
