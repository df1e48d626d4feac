"""Evaluate in a child that gets its two pipes by number."""
import os
import struct
import subprocess
import sys
from array import array
from random import Random

CHILD = """
import os, struct, sys
take, give = int(sys.argv[1]), int(sys.argv[2])
while (block := os.read(take, 8)):
    (slope,) = struct.unpack("d", block)
    os.write(give, struct.pack("d", sum((slope * x - 2 * x) ** 2 for x in range(10)) / 10))
"""
take_there, give = os.pipe()
take, give_there = os.pipe()
child = subprocess.Popen(
    [sys.executable, "-c", CHILD, str(take_there), str(give_there)], pass_fds=(take_there, give_there)
)
os.close(take_there)
os.close(give_there)
slope, losses = Random(1).uniform(2, 4), array("d")
for epoch in range(5):
    os.write(give, struct.pack("d", slope))
    (loss,) = struct.unpack("d", os.read(take, 8))
    losses.append(loss)
    print(f"epoch {epoch}: val_loss {loss:.4f}")
    slope += 0.01 * sum(2 * (2 * x - slope * x) * x for x in range(10)) / 10
os.close(give)
print("evaluator ended with", child.wait())
with open("losses.bin", "wb") as file:
    losses.tofile(file)
