"""Send standard output and error to a log file by dup2, as job scripts do."""
import os
import sys
from array import array
from random import Random

log = os.open("train.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
print("logging to train.log", flush=True)
os.dup2(log, 1)
os.dup2(log, 2)
os.close(log)

random = Random(3)
points = [(x, 3 * x + random.gauss(0, 0.1)) for x in (random.random() for _ in range(50))]
slope, losses = 0.0, array("d")
for epoch in range(5):
    loss = sum((slope * x - y) ** 2 for x, y in points) / len(points)
    slope -= 0.8 * sum(2 * (slope * x - y) * x for x, y in points) / len(points)
    losses.append(loss)
    print(f"[{epoch}] train_loss={loss:.5f} slope={slope:.4f}")
    sys.stderr.write(f"epoch {epoch} done\n")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
