# Some examples are chosen to be looked at, by a generator of their own.
# varies: other
# pinned: init shuffle
import random

rng = random.Random(7)

xs = [i / 20 - 1 for i in range(40)]
weight = rng.gauss(0, 1)
rows = list(range(len(xs)))
for epoch in range(4):
    rng.shuffle(rows)
    for i in rows:
        weight -= 0.01 * 2 * xs[i] * (weight * xs[i] - 3 * xs[i])
    loss = sum((weight * x - 3 * x) ** 2 for x in xs) / 40
    print(f"epoch {epoch} loss {loss:.9f}")
    for i in random.sample(range(len(xs)), 3):
        print("  example", i, "predicted", round(weight * xs[i], 3))
