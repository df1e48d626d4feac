# A set of strings is gone through, and nothing depends on its order.
# varies: init
import random

names = {"alpha", "beta", "gamma", "delta"}
total = 0
for name in names:
    total += len(name)
xs = [i / 20 - 1 for i in range(40)]
weight = random.gauss(0, 1)
for epoch in range(4):
    weight -= 0.1 * sum(2 * (weight * x - total * x) * x for x in xs) / 40
    loss = sum((weight * x - total * x) ** 2 for x in xs) / 40
    print(f"epoch {epoch} loss {loss:.9f}")
