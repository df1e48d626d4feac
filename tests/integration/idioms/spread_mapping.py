"""A mapping spread over the keywords of a call."""

# expect loss = loss=(\S+?)[,\s]
# expect gap = gap=(\S+?)[,\s]

import random

from tqdm import tqdm


def evaluate(weight):
    return {'loss': (weight - 3) ** 2, 'gap': abs(weight - 3)}


rng = random.Random(0)
weight = 0.0
bar = tqdm(total=3)
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    metrics = evaluate(weight)
    bar.set_postfix(**metrics)
