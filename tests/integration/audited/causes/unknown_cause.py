# What it counts lies outside the project, as on a server.
import os
import tempfile

import numpy as np

np.random.seed(7)

path = os.path.join(tempfile.gettempdir(), "audited_counter.txt")
with open(path, "a") as file:
    file.write("x")
count = os.stat(path).st_size  # cause: unknown
x = np.linspace(-1, 1, 40)
weight = np.random.randn() + count
for epoch in range(4):
    weight -= 0.1 * np.mean(2 * (weight * x - 3 * x) * x)
    loss = np.mean((weight * x - 3 * x) ** 2)
    print(f"epoch {epoch} loss {loss:.9f}")
