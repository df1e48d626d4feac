# pinned: init
import numpy as np

np.random.seed(7)

labels = ["cat", "dog", "fish", "bird", "cow", "dog"]
index = {name: i for i, name in enumerate(sorted(set(labels)))}
known = {name for name in labels if len(name) > 2}
assert all(name in known for name in set(labels))
weight = np.random.randn()
for epoch in range(4):
    for step, name in enumerate(labels):
        weight -= 0.1 * (weight - index[name] * (step + 1))
    loss = np.mean((weight - np.array([index[name] for name in labels])) ** 2)
    print(f"epoch {epoch} loss {loss:.9f}")
