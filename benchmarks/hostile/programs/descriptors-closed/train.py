"""Close whatever the parent left open, as daemons and launchers of clusters do, then train."""
import os

import numpy as np

os.closerange(3, 4096)

rng = np.random.default_rng(7)
shards = [open(f"shard-{i}.txt", "w+") for i in range(30)]
for shard in shards:
    shard.write(" ".join(f"{v:.6f}" for v in rng.normal(size=4)) + "\n")
    shard.seek(0)
points = np.array([[float(v) for v in shard.readline().split()] for shard in shards])

weights, losses = np.zeros(4), []
for epoch in range(6):
    error = points @ weights - points.sum(axis=1)
    loss = float(np.mean(error**2))
    weights -= 0.2 * points.T @ error / len(points)
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.6f}")
for shard in shards:
    shard.close()
np.save("losses.npy", losses)
