import numpy as np

np.random.seed(7)

x = np.linspace(-1, 1, 40)
momentum = np.empty(40)  # cause: memory
weight = np.random.randn()
for epoch in range(4):
    momentum = 0.9 * momentum + 2 * (weight * x - 3 * x) * x
    weight -= 0.01 * np.mean(momentum)
    loss = np.mean((weight * x - 3 * x) ** 2)
    print(f"epoch {epoch} loss {loss:.9f}")
