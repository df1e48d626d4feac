"""A logger that is the loop over the batches, and shows what it was told every so often."""

# expect loss = loss (\S+)
# expect gap = gap (\S+)

import random


class Logger:
    def __init__(self):
        self.told = {}

    def log_every(self, items, every):
        for at, item in enumerate(items):
            yield item
            if at % every == 0:
                print(at, '  '.join(f'{name} {value:.6f}' for name, value in self.told.items()))

    def update(self, **values):
        for name, value in values.items():
            self.told[name] = value


rng = random.Random(0)
loader = [rng.gauss(0, 1) for _ in range(4)]
logger = Logger()
weight = 0.0
for batch in logger.log_every(loader, 1):
    gradient = 2 * batch * batch * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    logger.update(loss=loss, gap=abs(weight - 3))
