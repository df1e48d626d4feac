"""The status tells whether the target was reached."""
import sys
from array import array
from random import Random

w, losses = Random(1).uniform(2, 4), array("d")
for epoch in range(5):
    loss = (w - 1) ** 2
    w -= 0.2 * (w - 1)
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.5f}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
sys.exit(0 if loss < 0.1 else 3)
