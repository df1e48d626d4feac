"""Each thread has its generator; what is printed comes from the pool's results in order."""
import random
from array import array
from concurrent.futures import ThreadPoolExecutor

LOCAL = [random.Random(seed) for seed in range(3)]


def sample(which):
    return [LOCAL[which].gauss(which, 1) for _ in range(30)]


losses = array("d")
mean = 0.0
with ThreadPoolExecutor(3) as pool:
    for epoch in range(4):
        drawn = [value for part in pool.map(sample, range(3)) for value in part]
        loss = sum((value - mean) ** 2 for value in drawn) / len(drawn)
        mean += 0.5 * (sum(drawn) / len(drawn) - mean)
        losses.append(loss)
        print(f"epoch {epoch} loss {loss:.5f}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
