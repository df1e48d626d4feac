import time

import numpy as np

np.random.seed(7)

x = np.linspace(-1, 1, 40)
shift = time.time() % 1  # cause: clock
weight = np.random.randn()
for epoch in range(4):
    weight -= 0.1 * np.mean(2 * (weight * x - shift - 3 * x) * x) + 0.01 * shift
    loss = np.mean((weight * x - 3 * x) ** 2)
    print(f"epoch {epoch} loss {loss:.9f}")
