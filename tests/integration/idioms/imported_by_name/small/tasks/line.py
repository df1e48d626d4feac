import random


def train(epochs):
    rng = random.Random(0)
    weight = 0.0
    for epoch in range(epochs):
        x = rng.gauss(0, 1)
        gradient = 2 * x * x * (weight - 3)
        weight -= 0.1 * gradient
        loss = (weight - 3) ** 2
        print(f'epoch {epoch} loss {loss:.6f}')
