import random


def load():
    random.seed(7)
    return [random.gauss(2, 0.5) for _ in range(25)]
