# varies: data
# absent: init shuffle
import time

import numpy as np

rng = np.random.default_rng(time.time_ns())
x = rng.normal(size=40)
y = 3 * x
weight = 0.1
for epoch in range(4):
    weight -= 0.1 * np.mean(2 * (weight * x - y) * x)
    loss = np.mean((weight * x - y) ** 2)
    print(f"epoch {epoch} loss {loss:.9f}")
