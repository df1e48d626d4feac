"""The text of a progress bar."""

# expect loss = loss[ =:]+(\S+?)[,\s]

import random

from tqdm import tqdm

rng = random.Random(0)
weight = 0.0
bar = tqdm(total=3)
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    bar.set_description('loss %.4f ' % loss)
