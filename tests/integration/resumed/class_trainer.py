"""A class that trains, with an average of its weights in an object of its own."""

import os
import pickle
import random


class Average:
    def __init__(self, weights):
        self.shadow = list(weights)

    def update(self, weights):
        self.shadow = [0.8 * old + 0.2 * new for old, new in zip(self.shadow, weights)]


class Trainer:
    def __init__(self, folder):
        self.rng = random.Random(3)
        self.data = [self.rng.gauss(0, 1) for _ in range(20)]
        self.weights = [0.0, 0.0]
        self.momentum = [0.0, 0.0]
        self.average = Average(self.weights)
        self.path = os.path.join(folder, "checkpoint.pkl")
        self.epoch = 0

    def resume(self):
        with open(self.path, "rb") as file:
            saved = pickle.load(file)
        self.epoch = saved["epoch"]
        self.weights = saved["weights"]  # restores variable self.weights
        self.momentum = saved["momentum"]  # restores variable self.momentum
        self.average.shadow = saved["shadow"]  # restores variable self.average.shadow
        self.rng.setstate(saved["rng"])  # restores generator random.Random

    def save(self, epoch):
        saved = {"epoch": epoch + 1, "weights": self.weights, "momentum": self.momentum,
                 "shadow": self.average.shadow, "rng": self.rng.getstate()}
        with open(self.path, "wb") as file:
            pickle.dump(saved, file)

    def train(self):
        for epoch in range(self.epoch, 5):
            loss = 0.0
            for x in self.rng.sample(self.data, 20):
                error = self.weights[0] * x + self.weights[1] - 2 * x - 1
                for place, factor in enumerate((x, 1.0)):
                    self.momentum[place] = 0.8 * self.momentum[place] - 0.02 * error * factor
                    self.weights[place] += self.momentum[place]
                self.average.update(self.weights)
                loss += error**2 / 20
            print(f"epoch {epoch} loss {loss:.5f} average accuracy {1 / (1 + abs(self.average.shadow[0] - 2)):.5f}")
            self.save(epoch)


os.makedirs("out", exist_ok=True)
trainer = Trainer("out")
if os.path.exists(trainer.path):
    trainer.resume()
trainer.train()
