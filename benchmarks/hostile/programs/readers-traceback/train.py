"""A warning and an error that is caught show the line they come from."""
import random
import traceback
import warnings
from array import array

random.seed(6)
w, losses = 1.0, array("d")
for epoch in range(4):
    loss = (w - 3) ** 2 + random.random() * 0.01
    w += 0.4 * (3 - w)
    losses.append(loss)
    try:
        print(f"epoch {epoch} loss {loss:.5f} ratio {1 / (epoch - 2):.2f} {random.random():.3f}")
    except ZeroDivisionError:
        print("loss", f"{loss:.5f}")
        print(traceback.format_exc(limit=1).splitlines()[2].strip())
    if epoch == 1: warnings.warn(f"loss is {loss:.2f} in epoch {epoch}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
