"""A logger that keeps meters by name and wraps the loop over the data."""

# expect loss = loss: (\S+)

import random
from collections import defaultdict


class SmoothedValue:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value):
        self.total += value
        self.count += 1

    @property
    def global_avg(self):
        return self.total / self.count

    def __str__(self):
        return f'{self.global_avg:.4f}'


class MetricLogger:
    def __init__(self):
        self.meters = defaultdict(SmoothedValue)

    def update(self, **values):
        for name, value in values.items():
            self.meters[name].update(value)

    def __getattr__(self, name):
        return self.meters[name]

    def __str__(self):
        return '  '.join(f'{name}: {meter}' for name, meter in self.meters.items())

    def log_every(self, items):
        for at, item in enumerate(items):
            yield item
            print(f'[{at}/{len(items)}]', str(self))


def train_one_epoch(weight, data, logger):
    for x in logger.log_every(data):
        gradient = 2 * x * x * (weight - 3)
        weight -= 0.1 * gradient
        loss = (weight - 3) ** 2
        logger.update(loss=loss)
    return weight


rng = random.Random(0)
weight = 0.0
for epoch in range(3):
    weight = train_one_epoch(weight, [rng.gauss(0, 1)], MetricLogger())
