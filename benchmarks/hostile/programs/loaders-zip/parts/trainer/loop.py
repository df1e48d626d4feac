from array import array
from random import Random


def run(epochs):
    random, losses = Random(1), array("d")
    w = random.uniform(2, 4)
    for epoch in range(epochs):
        loss = (w - 1) ** 2 + 0.01 * random.random()
        w -= 0.4 * (w - 1)
        losses.append(loss)
        print(f"epoch {epoch} loss {loss:.5f}")
    with open("losses.bin", "wb") as file:
        losses.tofile(file)
