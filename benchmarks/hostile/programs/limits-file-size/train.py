"""No file beyond 4 kB: a guard against logs that fill the quota."""
import resource

import numpy as np

resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
rng = np.random.default_rng(0)
x = rng.normal(size=30)
w = 0.0
losses = []
for step in range(300):
    loss = np.mean((w * x - 2 * x) ** 2)
    w += 0.02 * np.mean((2 * x - w * x) * x)
    losses.append(loss)
    if step % 10 == 0:
        print(f"step {step} loss {loss:.4f}")
np.save("losses.npy", losses[::10])
