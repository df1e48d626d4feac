import os
from array import array
from random import Random

random = Random(int(os.environ.get("SEED", "5")))
points = [random.uniform(-1, 1) for _ in range(64)]
bias, losses = 3.0, array("d")
for epoch in range(5):
    loss = sum((p - bias) ** 2 for p in points) / len(points)
    bias -= 0.3 * sum(2 * (bias - p) for p in points) / len(points)
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.6f}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
