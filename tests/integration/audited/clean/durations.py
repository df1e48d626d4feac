# pinned: init
import random
import time
from datetime import datetime

random.seed(7)

began = time.time()
xs = [i / 20 - 1 for i in range(40)]
weight = random.gauss(0, 1)
print("started", datetime.now())
for epoch in range(4):
    start = time.perf_counter()
    weight -= 0.1 * sum(2 * (weight * x - 3 * x) * x for x in xs) / 40
    loss = sum((weight * x - 3 * x) ** 2 for x in xs) / 40
    epoch_time = time.perf_counter() - start
    print(f"epoch {epoch} loss {loss:.9f} time {epoch_time:.3f} s")
print(f"took {time.time() - began:.2f} s")
