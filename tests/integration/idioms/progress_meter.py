"""Meters that another object shows."""

# expect losses = Loss \S+ \((\S+)\)

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


class ProgressMeter:
    def __init__(self, total, *meters, prefix=''):
        self.total, self.meters, self.prefix = total, meters, prefix

    def display(self, batch):
        entries = [f'{self.prefix}[{batch}/{self.total}]']
        entries += [str(meter) for meter in self.meters]
        print('\t'.join(entries))


losses = AverageMeter('Loss')
progress = ProgressMeter(3, losses, prefix='Epoch: ')
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    losses.update(loss)
    progress.display(epoch)
