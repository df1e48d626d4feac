"""The optimiser is a coroutine that gets gradients by send."""
from array import array
from random import Random
from contextlib import closing


def optimizer(w, rate, momentum=0.5):
    velocity = 0.0
    while True:
        gradient = yield w
        velocity = momentum * velocity - rate * gradient
        w += velocity


def loop(epochs):
    with closing(optimizer(Random(1).uniform(2, 4), 0.1)) as steps:
        w = next(steps)
        for epoch in range(epochs):
            loss = (w - 1.5) ** 2
            yield epoch, loss
            w = steps.send(2 * (w - 1.5))


losses = array("d")
for epoch, loss in loop(6):
    losses.append(loss)
    print(f"epoch {epoch:02d} loss {loss:.5f}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
