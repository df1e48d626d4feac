# pinned: init
import random

random.seed(7)

labels = ["cat", "dog", "fish", "bird", "cow"]
index = {name: i for i, name in enumerate(set(labels))}  # cause: hash
weight = random.gauss(0, 1)
for epoch in range(4):
    for step, name in enumerate(labels):
        weight -= 0.1 * (weight - index[name] * (step + 1))
    loss = sum((weight - index[name]) ** 2 for name in labels) / 5
    print(f"epoch {epoch} loss {loss:.6f}")
