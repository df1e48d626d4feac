import random


class Plain:
    def fit(self):
        rng = random.Random(0)
        weight = 0.0
        for epoch in range(3):
            x = rng.gauss(0, 1)
            gradient = 2 * x * x * (weight - 3)
            weight -= 0.1 * gradient
            loss = (weight - 3) ** 2
            print('epoch', epoch, 'loss', loss)
