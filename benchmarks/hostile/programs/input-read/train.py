import argparse
import sys
from array import array
from random import Random

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float)
parser.add_argument("--epochs", type=int)
args = parser.parse_args()
w, losses = Random(1).uniform(2, 4), array("d")
for epoch in range(args.epochs):
    loss = w * w
    w -= args.rate * 2 * w
    losses.append(loss)
    print(f"Epoch [{epoch + 1}/{args.epochs}] Loss: {loss:.6f}")
print("left on stdin:", repr(sys.stdin.read()))
with open("losses.bin", "wb") as file:
    losses.tofile(file)
