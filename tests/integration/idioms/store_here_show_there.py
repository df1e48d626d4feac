"""Values stored under a name and shown under it later."""

# expect Loss = AverageLoss (\S+)

import random


class EpochLogger:
    def __init__(self):
        self.epoch_dict, self.row = {}, {}

    def store(self, **values):
        for name, value in values.items():
            self.epoch_dict.setdefault(name, []).append(value)

    def log_tabular(self, key, value=None):
        if value is not None:
            self.row[key] = value
        else:
            values = self.epoch_dict.pop(key)
            self.row['Average' + key] = sum(values) / len(values)

    def dump_tabular(self):
        for key, value in self.row.items():
            print(key, value)


logger = EpochLogger()
rng = random.Random(0)
weight = 0.0
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    logger.store(Loss=(weight - 3) ** 2)
    logger.log_tabular('Epoch', epoch)
    logger.log_tabular('Loss')
    logger.dump_tabular()
