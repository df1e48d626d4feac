# varies: init shuffle
# absent: augment layers
import numpy as np

rng = np.random.default_rng(1)  # pins data
x = rng.normal(size=60)
y = 3 * x + 0.1 * rng.normal(size=60)
kept = rng.permutation(len(x))
x_train, y_train, x_test, y_test = x[kept[:40]], y[kept[:40]], x[kept[40:]], y[kept[40:]]
weight = np.random.randn()
for epoch in range(6):
    order = np.random.permutation(len(x_train))
    for i in order:
        weight -= 0.01 * 2 * x_train[i] * (weight * x_train[i] - y_train[i])
    loss = np.mean((weight * x_test - y_test) ** 2)
    print(f"epoch {epoch} test loss {loss:.4f}")
