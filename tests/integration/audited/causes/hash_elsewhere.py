# Nothing is seeded, so the draws vary by themselves; the order of the set does as well.
# varies: init
import random

labels = {"cat", "giraffe", "fish", "tiger", "elephant"}
targets = [len(name) for name in labels]  # cause: hash
weight = random.gauss(0, 1)
for epoch in range(4):
    for step, target in enumerate(targets):
        weight -= 0.1 * (weight - target * (step + 1))
    loss = sum((weight - target) ** 2 for target in targets) / 5
    print(f"epoch {epoch} loss {loss:.6f}")
