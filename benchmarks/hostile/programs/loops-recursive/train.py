from array import array
from random import Random

losses = array("d")


def train(w, epoch, last):
    if epoch == last:
        return w
    loss = (w - 3) ** 2
    losses.append(loss)
    print("epoch %d loss %.5f" % (epoch, loss))
    return train(w - 0.5 * (w - 3), epoch + 1, last)


print("w", train(Random(1).uniform(2, 4) - 5, 0, 6))
with open("losses.bin", "wb") as file:
    losses.tofile(file)
