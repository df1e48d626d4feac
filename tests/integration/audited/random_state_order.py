# varies: init
# absent: augment layers
import numpy as np

x = np.linspace(-1, 1, 40)
y = 3 * x
weight = np.random.randn()
rng = np.random.RandomState(42)  # pins shuffle
for epoch in range(6):
    order = rng.permutation(len(x))
    for i in order:
        weight -= 0.01 * 2 * x[i] * (weight * x[i] - y[i])
    loss = np.mean((weight * x - y) ** 2)
    print(f"epoch {epoch} loss {loss:.4f}")
