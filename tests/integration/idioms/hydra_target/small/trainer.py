import random


class Trainer:
    def __init__(self, epochs):
        self.epochs = epochs

    def fit(self, model):
        rng = random.Random(0)
        for epoch in range(self.epochs):
            loss = model.step(rng.gauss(0, 1))
            print(f'epoch {epoch} loss {loss:.6f}')
