# A set of strings is gone through, and nothing depends on its order.
# varies: init
import numpy as np

names = {"alpha", "beta", "gamma", "delta"}
total = 0
for name in names:
    total += len(name)
x = np.linspace(-1, 1, 40)
weight = np.random.randn()
for epoch in range(4):
    weight -= 0.1 * np.mean(2 * (weight * x - total * x) * x)
    loss = np.mean((weight * x - total * x) ** 2)
    print(f"epoch {epoch} loss {loss:.9f}")
