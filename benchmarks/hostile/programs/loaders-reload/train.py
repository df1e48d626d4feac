"""Write a module, import it, write it anew and reload it, as hot reloading of hyper-parameters does."""
import importlib
import os
import sys
from array import array
from random import Random
from pathlib import Path

sys.dont_write_bytecode = True
Path("schedule.py").write_text("def rate(epoch):\n    return 0.1\n")
import schedule

w, losses = Random(1).uniform(2, 4), array("d")
for epoch in range(6):
    if epoch == 3:
        Path("schedule.py").write_text("def rate(epoch):\n    return 0.4 / (epoch - 2)\n")
        os.utime("schedule.py", (1, 1))
        schedule = importlib.reload(schedule)
    loss = (w - 2) ** 2
    w -= schedule.rate(epoch) * 2 * (w - 2)
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.5f} rate {schedule.rate(epoch):.3f}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
