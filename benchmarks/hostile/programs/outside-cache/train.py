"""Data lie in the user's cache, where the first use makes them."""
import os

import numpy as np

cache = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "toy")
path = os.path.join(cache, "points.npy")
if not os.path.exists(path):
    os.makedirs(cache, exist_ok=True)
    np.save(path, np.random.default_rng(0).normal(size=(40, 2)))
points = np.load(path)
w, losses = np.ones(2), []
for epoch in range(4):
    loss = float(np.mean((points @ w) ** 2))
    w -= 0.4 * points.T @ (points @ w) / len(points)
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.5f}")
np.save("losses.npy", losses)
