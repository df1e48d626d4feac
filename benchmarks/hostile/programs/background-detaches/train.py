"""Show the first two epochs in the terminal, then go on in the background."""
import os
import time
from array import array
from random import Random

rate, weight, losses = 0.25, Random(1).uniform(2, 4), array("d")
for epoch in range(6):
    loss = (weight - 1) ** 2
    weight -= rate * 2 * (weight - 1)
    losses.append(loss)
    print(f"epoch {epoch}: loss {loss:.6f}", flush=True)
    time.sleep(0.4)
    if epoch == 1 and os.fork():
        os._exit(0)
    if epoch == 1:
        os.setsid()
with open("losses.bin", "wb") as file:
    losses.tofile(file)
