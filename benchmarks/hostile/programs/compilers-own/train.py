from array import array
from random import Random

from tinyjit import jit


@jit
def run_epoch(w, points, rate):
    loss = 0.0
    for step in range(len(points)):
        error = w - points[step]
        loss = loss + error * error / len(points)
        w = w - rate * error
    return w, loss


points, w, losses = [1.0, 1.2, 0.9, 1.1], Random(1).uniform(2, 4), array("d")
for epoch in range(5):
    w, loss = run_epoch(w, points, 0.2)
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.5f}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
