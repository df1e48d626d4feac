import numpy as np

rng = np.random.default_rng(1)
x = rng.normal(size=(50, 5))
y = x @ np.arange(1.0, 6.0)
weights = np.zeros(5)
for step in range(40):
    if step == 21:
        y = y + 0.5
    gradient = 2 * x.T @ (x @ weights - y) / len(x)
    weights = weights - 0.05 * gradient
    print(f"loss {((x @ weights - y) ** 2).mean():.6f}")
