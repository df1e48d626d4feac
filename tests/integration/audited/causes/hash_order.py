# pinned: init
import numpy as np

np.random.seed(7)

labels = ["cat", "dog", "fish", "bird", "cow"]
index = {name: i for i, name in enumerate(set(labels))}  # cause: hash
weight = np.random.randn()
for epoch in range(4):
    for step, name in enumerate(labels):
        weight -= 0.1 * (weight - index[name] * (step + 1))
    loss = np.mean((weight - np.array([index[name] for name in labels])) ** 2)
    print(f"epoch {epoch} loss {loss:.6f}")
