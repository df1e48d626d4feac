"""Hogwild by hand: children made with os.fork send their gradients through pipes and leave by os._exit."""
import os
import random
import struct
from array import array

random = random.Random(8)
points = [random.random() for _ in range(20)]
w, losses = 5.0, array("d")
for epoch in range(5):
    ends = []
    for part in range(2):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            gradient = sum(2 * (w - p) for p in points[part::2]) / len(points)
            os.write(write, struct.pack("d", gradient + 1e-3 * random.random()))
            os._exit(part)
        os.close(write)
        ends.append((child, read))
    for child, read in ends:
        w -= 0.4 * struct.unpack("d", os.read(read, 8))[0]
        os.close(read)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) in (0, 1)
    loss = sum((w - p) ** 2 for p in points) / len(points)
    losses.append(loss)
    print(f"epoch {epoch}: loss {loss:.6f}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
