import random
import uuid

random.seed(7)

xs = [i / 20 - 1 for i in range(40)]
name = uuid.uuid4()  # cause: entropy
weight = random.gauss(0, 1) + (name.int % 1000) / 1000
for epoch in range(4):
    weight -= 0.1 * sum(2 * (weight * x - 3 * x) * x for x in xs) / 40
    loss = sum((weight * x - 3 * x) ** 2 for x in xs) / 40
    print(f"epoch {epoch} loss {loss:.9f}")
