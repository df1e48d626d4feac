import os
import stat
from array import array
from random import Random

w, losses = Random(1).uniform(2, 4), array("d")
for epoch in range(4):
    loss = (w - 1) ** 2
    w -= 0.3 * (w - 1)
    losses.append(loss)
    with open(f"model-{epoch}.bin", "wb") as file:
        file.write(bytes(8))
    mode = stat.filemode(os.stat(f"model-{epoch}.bin").st_mode)
    print(f"epoch {epoch} loss {loss:.4f} saved {mode}")
os.makedirs("logs/tb", exist_ok=True)
print(stat.filemode(os.stat("logs/tb").st_mode))
with open("losses.bin", "wb") as file:
    losses.tofile(file)
