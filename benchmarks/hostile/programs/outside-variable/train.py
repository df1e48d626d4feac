import argparse
import os
from array import array

parser = argparse.ArgumentParser()
parser.add_argument("--test")
args = parser.parse_args()
points = [float(word) for word in open(os.environ["POINTS"]).read().split()]
test = [float(word) for word in open(args.test).read().split()]
w, losses = 0.0, array("d")
for epoch in range(4):
    w += 0.5 * (sum(points) / len(points) - w)
    loss = sum((w - p) ** 2 for p in test) / len(test)
    losses.append(loss)
    print(f"epoch {epoch} test loss {loss:.5f}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
