"""A callback that reads what the trainer keeps."""

# expect loss = loss (\S+)

import random


class Trainer:
    def __init__(self):
        self.callbacks, self.loss, self.weight = {}, 0.0, 0.0

    def set_callback(self, event, callback):
        self.callbacks[event] = callback

    def run(self, steps):
        rng = random.Random(0)
        for self.iteration in range(steps):
            x = rng.gauss(0, 1)
            gradient = 2 * x * x * (self.weight - 3)
            self.weight -= 0.1 * gradient
            self.loss = (self.weight - 3) ** 2
            self.callbacks['end'](self)


def report(trainer):
    print(f'iteration {trainer.iteration} loss {trainer.loss:.5f}')


trainer = Trainer()
trainer.set_callback('end', report)
trainer.run(3)
