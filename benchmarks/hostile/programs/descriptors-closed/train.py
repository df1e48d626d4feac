"""Close whatever is open once the first epoch is done, as daemons do, and open many files of its own."""
import os
import resource

import numpy as np

resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
rng = np.random.default_rng(7)
shards = [open(f"shard-{i}.txt", "w+") for i in range(30)]
for shard in shards:
    shard.write(" ".join(f"{v:.6f}" for v in rng.normal(size=4)) + "\n")
    shard.seek(0)
points = np.array([[float(v) for v in shard.readline().split()] for shard in shards])
for shard in shards:
    shard.close()

weights, losses = np.zeros(4), []
for epoch in range(6):
    error = points @ weights - points.sum(axis=1)
    loss = float(np.mean(error**2))
    weights -= 0.2 * points.T @ error / len(points)
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.6f}", flush=True)
    if epoch == 0:
        os.closerange(3, 4096)
        shards = [open(f"state-{i}.bin", "w+b", buffering=0) for i in range(1000)]
print("bytes in my files", sum(os.fstat(shard.fileno()).st_size for shard in shards))
for shard in shards:
    shard.close()
np.save("losses.npy", losses)
