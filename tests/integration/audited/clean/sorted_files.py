# pinned: init other
import glob
import os

import numpy as np

np.random.seed(7)

os.makedirs("parts", exist_ok=True)
for n in range(6):
    np.save(f"parts/{n}.npy", np.random.randn(5) + n)
parts = [np.load(path) for path in sorted(glob.glob("parts/*.npy"))]
names = os.listdir("parts")
names.sort()
weight = np.random.randn()
for epoch in range(4):
    for part in parts:
        weight -= 0.1 * np.mean(weight - part)
    loss = np.mean((weight - parts[0]) ** 2) + len(names)
    print(f"epoch {epoch} loss {loss:.9f}")
