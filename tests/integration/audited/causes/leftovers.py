import os
import random

random.seed(7)

xs = [i / 20 - 1 for i in range(40)]
weight = random.gauss(0, 1)
if os.path.exists("weight.txt"):  # cause: leftovers weight.txt
    weight = float(open("weight.txt").read())
for epoch in range(4):
    weight -= 0.1 * sum(2 * (weight * x - 3 * x) * x for x in xs) / 40
    loss = sum((weight * x - 3 * x) ** 2 for x in xs) / 40
    print(f"epoch {epoch} loss {loss:.9f}")
with open("weight.txt", "w") as file:
    file.write(str(weight))
