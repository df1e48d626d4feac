# pinned: init
import time
from datetime import datetime

import numpy as np

np.random.seed(7)

began = time.time()
x = np.linspace(-1, 1, 40)
weight = np.random.randn()
print("started", datetime.now())
for epoch in range(4):
    start = time.perf_counter()
    weight -= 0.1 * np.mean(2 * (weight * x - 3 * x) * x)
    loss = np.mean((weight * x - 3 * x) ** 2)
    epoch_time = time.perf_counter() - start
    print(f"epoch {epoch} loss {loss:.9f} time {epoch_time:.3f} s")
print(f"took {time.time() - began:.2f} s")
