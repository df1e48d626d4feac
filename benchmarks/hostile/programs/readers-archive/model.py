import random
from array import array


class Model:
    def __init__(self):
        random.seed(2)
        self.w = random.uniform(2, 3)

    def fit(self, epochs):
        losses = array("d")
        for epoch in range(epochs):
            loss = self.w**2
            self.w *= 0.5
            losses.append(loss)
            print(f"epoch {epoch} loss {loss:.6f}")
        with open("losses.bin", "wb") as file:
            losses.tofile(file)
