import random

random.seed(2)
points = [random.gauss(1, 1) for _ in range(SIZE)]
