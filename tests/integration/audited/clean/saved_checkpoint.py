# A run finds what an earlier one left, and does not read it.
# pinned: init
import os

import numpy as np

np.random.seed(7)

if not os.path.exists("checkpoints"):
    os.makedirs("checkpoints")
x = np.linspace(-1, 1, 40)
weight = np.random.randn()
for epoch in range(4):
    weight -= 0.1 * np.mean(2 * (weight * x - 3 * x) * x)
    loss = np.mean((weight * x - 3 * x) ** 2)
    np.save(f"checkpoints/{epoch}.npy", weight)
    print(f"epoch {epoch} loss {loss:.9f}")
