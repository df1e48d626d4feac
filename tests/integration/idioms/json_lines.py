"""One JSON object a line."""

# expect train_loss = "train_loss": ([^,}]+)
# expect test_gap = "test_gap": ([^,}]+)

import json
import random

rng = random.Random(0)
weight = 0.0

for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    stats = {'epoch': epoch, 'train_loss': loss, 'test_gap': abs(weight - 3)}
    with open('log.txt', 'a') as stream:
        stream.write(json.dumps(stats) + '\n')
