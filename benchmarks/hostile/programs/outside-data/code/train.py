import os
from array import array

here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "..", "data", "points.txt")) as file:
    points = [float(line) for line in file]
test = [float(line) for line in open("../data/test.txt")]
w, losses = 0.0, array("d")
for epoch in range(4):
    w += 0.5 * (sum(points) / len(points) - w)
    loss = sum((w - p) ** 2 for p in test) / len(test)
    losses.append(loss)
    print(f"epoch {epoch} test loss {loss:.5f}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
