"""Fails at the end, in functions of two files."""
from array import array
from random import Random

from export import export

w, losses = Random(1).uniform(2, 4), array("d")
for epoch in range(4):
    loss = w * w
    w *= 0.5
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.5f}", flush=True)
with open("losses.bin", "wb") as file:
    losses.tofile(file)
print("last", [export(loss, name=f"model-{i}") for i, loss in enumerate(losses)][-1])
