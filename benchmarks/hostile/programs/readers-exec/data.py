import random

random.seed(9)
points = [random.gauss(0, 1) for _ in range(30)]
