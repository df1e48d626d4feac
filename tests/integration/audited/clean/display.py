# Some examples are chosen to be looked at, by a generator of their own.
# varies: other
# pinned: init shuffle
import random

import numpy as np

np.random.seed(7)

x = np.linspace(-1, 1, 40)
weight = np.random.randn()
for epoch in range(4):
    for i in np.random.permutation(len(x)):
        weight -= 0.01 * 2 * x[i] * (weight * x[i] - 3 * x[i])
    loss = np.mean((weight * x - 3 * x) ** 2)
    print(f"epoch {epoch} loss {loss:.9f}")
    for i in random.sample(range(len(x)), 3):
        print("  example", i, "predicted", round(float(weight * x[i]), 3))
