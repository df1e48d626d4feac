from array import array
from random import Random

names = []
try:
    while True:
        names.append(input("column? "))
except EOFError:
    print()
names = names or ["x", "y"]
w, losses = Random(1).uniform(2, 4), array("d")
for epoch in range(4):
    loss = (w - len("".join(names))) ** 2
    w -= 0.3 * (w - len("".join(names)))
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.4f} of {names}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
