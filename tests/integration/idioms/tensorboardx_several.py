"""Several scalars of tensorboardX under one tag."""

# expect loss/train = loss/train (\S+)
# expect loss/val = loss/val (\S+)

import random

from tensorboardX import SummaryWriter

rng = random.Random(0)
weight = 0.0
writer = SummaryWriter('runs')
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    train_loss = (weight - 3) ** 2
    val_loss = (weight - 3.1) ** 2
    writer.add_scalars('loss', {'train': train_loss, 'val': val_loss}, epoch)
