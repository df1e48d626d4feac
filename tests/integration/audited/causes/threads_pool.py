import sys
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np

np.random.seed(7)
sys.setswitchinterval(1e-6)
x = np.random.randn(32, 300)
weight = np.random.randn()


def part(row):
    total = 0.0
    for value in row:
        total = 0.9 * total + value * weight
    return total


for epoch in range(4):
    with ThreadPoolExecutor(4) as pool:  # cause: threads
        slope = 0.0
        for done in as_completed([pool.submit(part, row) for row in x]):  # cause: threads
            slope = 0.5 * slope + done.result()
    weight -= 0.01 * slope
    loss = np.mean((weight - x) ** 2)
    print(f"epoch {epoch} loss {loss!r}")
