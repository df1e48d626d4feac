import resource

import numpy as np

print("address space", resource.getrlimit(resource.RLIMIT_AS)[0] // 2**20, "MiB")
try:
    np.ones(2**31)
    print("16 GiB were there")
except MemoryError:
    print("memory is limited")
w, losses = np.full(1000, 2.0), []
for epoch in range(5):
    loss = float(np.mean(w**2))
    w *= 0.8
    losses.append(loss)
    print(f"epoch={epoch} loss={loss:.4f}")
np.save("losses.npy", losses)
