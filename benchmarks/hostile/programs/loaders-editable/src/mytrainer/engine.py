import random
from array import array


def fit(epochs):
    random.seed(1)
    w, losses = random.uniform(1, 2), array("d")
    for epoch in range(epochs):
        loss = w**2
        w *= 0.6
        losses.append(loss)
        print(f"epoch {epoch} loss {loss:.5f}")
    with open("losses.bin", "wb") as file:
        losses.tofile(file)
