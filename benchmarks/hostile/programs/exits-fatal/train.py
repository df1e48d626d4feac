"""Ends by a signal, after all was written."""
import os
import signal
from array import array
from random import Random

w, losses = Random(1).uniform(2, 4), array("d")
for epoch in range(4):
    loss = (w - 1) ** 2
    w -= 0.5 * (w - 1)
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.5f}", flush=True)
with open("losses.bin", "wb") as file:
    losses.tofile(file)
os.kill(os.getpid(), signal.SIGKILL)
