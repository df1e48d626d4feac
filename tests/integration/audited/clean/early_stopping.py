# How many epochs there are follows from the weights, and with them how often the data are shuffled.
# pinned: init shuffle
import random

random.seed(5)

xs = [i / 20 - 1 for i in range(40)]
weight = random.gauss(0, 2)
rows = list(range(len(xs)))
loss = 100.0
for epoch in range(60):
    random.shuffle(rows)
    for i in rows:
        weight -= 0.02 * 2 * xs[i] * (weight * xs[i] - 3 * xs[i])
    loss = sum((weight * x - 3 * x) ** 2 for x in xs)
    print(f"epoch {epoch} loss {loss:.9f}")
    if loss < 1e-3:
        break
