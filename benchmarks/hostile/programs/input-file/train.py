import sys

import numpy as np

table = np.loadtxt(sys.stdin)
x, y = table[:, 0], table[:, 1]
a = b = 0.0
losses = []
for epoch in range(5):
    error = a * x + b - y
    loss = np.mean(error**2)
    a -= 0.05 * np.mean(error * x)
    b -= 0.05 * np.mean(error)
    losses.append(loss)
    print(f"epoch {epoch} rows {len(table)} loss {loss:.5f}")
np.save("losses.npy", losses)
