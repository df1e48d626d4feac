"""A generator of NumPy's that the program makes, and restores by the state of its bits."""

import json
import os

import numpy as np

rng = np.random.default_rng(7)
x = rng.normal(size=30)
weight, rate, start = 0.0, 0.1, 0
if os.path.exists("state.json"):
    with open("state.json") as file:
        state = json.load(file)
    start, weight = state["epoch"], state["weight"]
    rate = state["rate"]  # restores variable rate
    rng.bit_generator.state = state["rng"]  # restores generator numpy.Generator
for epoch in range(start, 6):
    for value in rng.permutation(x):
        weight -= rate * 2 * value * (weight * value - 2 * value + rng.normal(0, 0.1))
    rate *= 0.8
    loss = float(((weight * x - 2 * x) ** 2).mean())
    print(f"epoch {epoch} loss {loss:.8f}")
    with open("state.json", "w") as file:
        json.dump({"epoch": epoch + 1, "weight": weight, "rate": rate, "rng": rng.bit_generator.state}, file)
