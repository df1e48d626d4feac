from array import array

from .. import models


def train(points, epochs):
    model, losses = models.Mean(), array("d")
    for epoch in range(epochs):
        loss = model.loss(points)
        model.update(points)
        losses.append(loss)
        print(f"epoch {epoch} loss {loss:.5f}")
    with open("losses.bin", "wb") as file:
        losses.tofile(file)
