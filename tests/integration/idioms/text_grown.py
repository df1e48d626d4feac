"""Text that grows."""

# expect loss = loss (\S+)
# expect gap = gap (\S+)

import random

rng = random.Random(0)
weight = 0.0

for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    text = f'epoch {epoch} '
    text += f'loss {loss:.4f} '
    text += 'gap %.2f' % abs(weight - 3)
    print(text)
