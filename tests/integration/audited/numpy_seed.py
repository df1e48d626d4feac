# absent: augment layers
import numpy as np

np.random.seed(7)  # pins init shuffle

x = np.linspace(-1, 1, 40)
y = 3 * x
weight = np.random.randn()
for epoch in range(4):
    order = np.random.permutation(len(x))
    for i in order:
        weight -= 0.01 * 2 * x[i] * (weight * x[i] - y[i])
    loss = np.mean((weight * x - y) ** 2)
    print(f"epoch {epoch} loss {loss:.4f}")
