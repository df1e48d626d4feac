import random
import time

random.seed(7)

xs = [i / 20 - 1 for i in range(40)]
shift = time.time() % 1  # cause: clock
weight = random.gauss(0, 1)
for epoch in range(4):
    weight -= 0.1 * sum(2 * (weight * x - shift - 3 * x) * x for x in xs) / 40 + 0.01 * shift
    loss = sum((weight * x - 3 * x) ** 2 for x in xs) / 40
    print(f"epoch {epoch} loss {loss:.9f}")
