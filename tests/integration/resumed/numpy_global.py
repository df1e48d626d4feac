"""NumPy's global generator, Adam by hand in a dictionary, files of NumPy every second epoch."""

import os
import pickle

import numpy as np

np.random.seed(4)
x = np.random.normal(size=(40, 3))
y = x @ np.array([1.0, -2.0, 0.5])
weight, start = np.random.normal(size=3), 0
adam = {"m": np.zeros(3), "v": np.zeros(3), "t": 0}
if os.path.exists("model.npz"):
    stored = np.load("model.npz")
    weight = stored["weight"]  # restores variable weight
    start = int(stored["epoch"])
    adam = {"m": stored["m"], "v": stored["v"], "t": int(stored["t"])}  # restores variable adam
    np.random.set_state(pickle.load(open("rng.pkl", "rb")))  # restores generator numpy
for epoch in range(start, 7):
    for i in np.random.permutation(40):
        gradient = 2 * x[i] * (x[i] @ weight - y[i])
        adam["t"] += 1
        adam["m"] = 0.9 * adam["m"] + 0.1 * gradient
        adam["v"] = 0.99 * adam["v"] + 0.01 * gradient**2
        mean, square = adam["m"] / (1 - 0.9 ** adam["t"]), adam["v"] / (1 - 0.99 ** adam["t"])
        weight = weight - 0.05 * mean / (np.sqrt(square) + 1e-8)
    loss = float(((x @ weight - y) ** 2).mean())
    print(f"epoch {epoch}: val loss = {loss:.6f}")
    if epoch % 2 == 0:
        np.savez("model.npz", weight=weight, epoch=epoch + 1, **adam)
        with open("rng.pkl", "wb") as file:
            pickle.dump(np.random.get_state(), file)
