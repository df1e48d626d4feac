"""Functions that return several numbers, named where they are printed."""

# expect train loss = train loss (\S+)
# expect test loss = test loss (\S+)
# expect accuracy = accuracy (\S+)

import random


def train(weight, rng):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    return weight, (weight - 3) ** 2


def test(weight):
    return abs(weight - 3), 100 / (1 + abs(weight - 3))


rng = random.Random(0)
weight = 0.0
for epoch in range(3):
    weight, train_loss = train(weight, rng)
    test_loss, acc = test(weight)
    print(f'epoch {epoch} train loss {train_loss:.4f} test loss {test_loss:.4f} accuracy {acc:.2f}')
