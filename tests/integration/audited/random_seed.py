# absent: augment layers
import random

random.seed(3)  # pins init shuffle

xs = [i / 20 - 1 for i in range(40)]
weight = random.gauss(0, 1)
rows = list(range(len(xs)))
for epoch in range(4):
    random.shuffle(rows)
    for i in rows:
        weight -= 0.01 * 2 * xs[i] * (weight * xs[i] - 3 * xs[i])
    loss = sum((weight * x - 3 * x) ** 2 for x in xs)
    print(f"epoch {epoch} loss {loss:.4f}")
