import resource
from array import array
from random import Random

print("descriptors", resource.getrlimit(resource.RLIMIT_NOFILE))
shards = []
for number in range(50):
    shards.append(open(f"part-{number:02d}.txt", "w+"))
losses = array("d")
w = Random(1).uniform(2, 4)
for epoch in range(5):
    loss = (w - 3) ** 2
    w -= 0.4 * (w - 3)
    losses.append(loss)
    shards[epoch].write(f"{w:.3f}\n")
    print(f"epoch {epoch} loss {loss:.5f}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
