import time
from array import array
from random import Random

value, losses = Random(1).uniform(2, 4), array("d")
for epoch in range(6):
    time.sleep(0.6)
    loss = value**2
    value /= 2
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.6f}", flush=True)
with open("losses.bin", "wb") as file:
    losses.tofile(file)
