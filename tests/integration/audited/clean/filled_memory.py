# pinned: init
import numpy as np

np.random.seed(7)

x = np.linspace(-1, 1, 40)
errors = np.empty(40)
weight = np.random.randn()
for epoch in range(4):
    for i in range(40):
        errors[i] = weight * x[i] - 3 * x[i]
    weight -= 0.1 * np.mean(2 * errors * x)
    loss = np.mean(errors**2)
    print(f"epoch {epoch} loss {loss:.9f}")
