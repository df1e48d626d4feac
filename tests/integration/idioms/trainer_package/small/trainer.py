import random
from collections import defaultdict


class Base:
    def __init__(self, steps):
        self.steps, self.step, self.history = steps, 0, defaultdict(list)

    def train(self):
        while True:
            loss = self.train_step()
            self.after_step(loss)
            self.step += 1
            if self.step >= self.steps:
                break


class Trainer(Base):
    weight = 0.0
    rng = random.Random(0)

    def train_step(self):
        x = self.rng.gauss(0, 1)
        gradient = 2 * x * x * (self.weight - 3)
        self.weight -= 0.1 * gradient
        return (self.weight - 3) ** 2

    def after_step(self, loss):
        self.history['loss'].append(loss)
        print('step', self.step, 'loss', loss)
