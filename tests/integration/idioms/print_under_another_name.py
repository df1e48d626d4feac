"""The function that prints has other names."""

# expect loss = loss (\S+)$
# expect error = error (\S+)$

import functools
import random

say = functools.partial(print, flush=True)
tell = lambda *values: print(*values)  # noqa: E731

rng = random.Random(0)
weight = 0.0
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    say('epoch', epoch, 'loss', loss)
    tell('error', abs(weight - 3))
