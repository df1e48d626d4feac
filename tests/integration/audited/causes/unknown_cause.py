# What it counts lies outside the project, as on a server.
import os
import random
import tempfile

random.seed(7)

path = os.path.join(tempfile.gettempdir(), "audited_counter.txt")
with open(path, "a") as file:
    file.write("x")
count = os.stat(path).st_size  # cause: unknown
xs = [i / 20 - 1 for i in range(40)]
weight = random.gauss(0, 1) + count
for epoch in range(4):
    weight -= 0.1 * sum(2 * (weight * x - 3 * x) * x for x in xs) / 40
    loss = sum((weight * x - 3 * x) ** 2 for x in xs) / 40
    print(f"epoch {epoch} loss {loss:.9f}")
