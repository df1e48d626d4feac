import uuid

import numpy as np

np.random.seed(7)

x = np.linspace(-1, 1, 40)
name = uuid.uuid4()  # cause: entropy
weight = np.random.randn() + (name.int % 1000) / 1000
for epoch in range(4):
    weight -= 0.1 * np.mean(2 * (weight * x - 3 * x) * x)
    loss = np.mean((weight * x - 3 * x) ** 2)
    print(f"epoch {epoch} loss {loss:.9f}")
