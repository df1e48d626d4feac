"""A meter whose average is shown."""

# expect loss = loss[ =:]+(\S+?)[,\s]

import random

rng = random.Random(0)
weight = 0.0
class AverageMeter:
    def __init__(self, name=''):
        self.name, self.sum, self.count, self.avg, self.val = name, 0.0, 0, 0.0, 0.0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        return f'{self.name} {self.val:.4f} ({self.avg:.4f})'


losses = AverageMeter()
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    losses.update(loss)
    print('loss {m.avg:.4f} '.format(m=losses))
