from pathlib import Path

import numpy as np

np.random.seed(7)

folder = Path("parts")
folder.mkdir(exist_ok=True)
for n in range(6):
    np.save(folder / f"{n}.npy", np.random.randn(5) + n)
parts = []
for path in folder.glob("*.npy"):  # cause: files
    parts.append(np.load(path))
weight = np.random.randn()
for epoch in range(4):
    for part in parts:
        weight -= 0.1 * np.mean(weight - part)
    loss = np.mean((weight - parts[0]) ** 2)
    print(f"epoch {epoch} loss {loss:.9f}")
