"""A search whose steps no framework and no gradient name."""

# expect best fitness = best fitness (\S+)

import random

rng = random.Random(0)
population = [rng.uniform(-1, 1) for _ in range(8)]
for generation in range(4):
    population = [one + rng.gauss(0, 0.2) for one in population]
    best_fitness = max(-((one - 1) ** 2) for one in population)
    print(f'generation {generation} best fitness {best_fitness:.5f}')
