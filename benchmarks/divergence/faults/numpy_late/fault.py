import numpy as np
import os

rng = np.random.default_rng(1)
x = rng.normal(size=(50, 5))
y = x @ np.arange(1.0, 6.0)
weights = np.zeros(5)
for step in range(40):
    if step == 21:
        y = y + np.frombuffer(os.urandom(50), dtype=np.uint8) / 255  # here
    gradient = 2 * x.T @ (x @ weights - y) / len(x)
    weights = weights - 0.05 * gradient
    print(f"loss {((x @ weights - y) ** 2).mean():.6f}")
