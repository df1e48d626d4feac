# A run finds what an earlier one left, and does not read it.
# pinned: init
import os
import random

random.seed(7)

if not os.path.exists("checkpoints"):
    os.makedirs("checkpoints")
xs = [i / 20 - 1 for i in range(40)]
weight = random.gauss(0, 1)
for epoch in range(4):
    weight -= 0.1 * sum(2 * (weight * x - 3 * x) * x for x in xs) / 40
    loss = sum((weight * x - 3 * x) ** 2 for x in xs) / 40
    with open(f"checkpoints/{epoch}.txt", "w") as file:
        file.write(str(weight))
    print(f"epoch {epoch} loss {loss:.9f}")
