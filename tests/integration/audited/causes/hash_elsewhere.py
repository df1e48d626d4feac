# Nothing is seeded, so the draws vary by themselves; the order of the set does as well.
# varies: init
import numpy as np

labels = {"cat", "dog", "fish", "bird", "cow"}
targets = np.array([len(name) for name in labels])  # cause: hash
weight = np.random.randn()
for epoch in range(4):
    for step, target in enumerate(targets):
        weight -= 0.1 * (weight - target * (step + 1))
    loss = np.mean((weight - targets) ** 2)
    print(f"epoch {epoch} loss {loss:.6f}")
