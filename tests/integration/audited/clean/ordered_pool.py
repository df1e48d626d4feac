# pinned: init
from concurrent.futures import ThreadPoolExecutor

import numpy as np

np.random.seed(7)
x = np.linspace(-1, 1, 400).reshape(8, 50)
weight = np.random.randn()
for epoch in range(4):
    with ThreadPoolExecutor(4) as pool:
        slopes = list(pool.map(lambda row: float(np.mean(2 * (weight * row - 3 * row) * row)), x))
    weight -= 0.1 * sum(slopes) / len(slopes)
    loss = np.mean((weight * x - 3 * x) ** 2)
    print(f"epoch {epoch} loss {loss:.9f}")
