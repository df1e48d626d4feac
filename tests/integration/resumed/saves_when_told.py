"""Saves only where a scheduler tells it to end, and ends then."""

import os
import pickle
import random
import signal
import sys

random.seed(5)
stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
weight, velocity, start = 0.0, 0.0, 0
if os.path.exists("preempted.ckpt"):
    with open("preempted.ckpt", "rb") as file:
        start, weight, velocity, state = pickle.load(file)
    random.setstate(state)  # restores generator random
for epoch in range(start, 6):
    loss = 0.0
    for _ in range(10):
        x = random.gauss(0, 1)
        velocity = 0.9 * velocity - 0.02 * x * (weight * x - 3 * x)
        weight += velocity
        loss += (weight * x - 3 * x) ** 2 / 10
    print(f"epoch {epoch} loss {loss:.6f}")
    if stopping:
        with open("preempted.ckpt", "wb") as file:
            pickle.dump((epoch + 1, weight, velocity, random.getstate()), file)
        sys.exit(0)
