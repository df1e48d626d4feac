"""Standard library only: momentum, a step counter, an average of the weight and the order of the data."""

import os
import pickle
import random

random.seed(1)
data = [random.gauss(0, 1) for _ in range(20)]
weight, velocity, step, start = random.gauss(0, 1), 0.0, 0, 0
average = {"weight": weight}
if os.path.exists("ckpt.pkl"):
    with open("ckpt.pkl", "rb") as file:
        saved = pickle.load(file)
    start = saved["epoch"]
    weight = saved["weight"]  # restores variable weight
    velocity = saved["velocity"]  # restores variable velocity
    step = saved["step"]  # restores variable step
    average = saved["average"]  # restores variable average
    data = saved["data"]  # restores variable data
    random.setstate(saved["rng"])  # restores generator random
for epoch in range(start, 6):
    random.shuffle(data)
    loss = 0.0
    for x in data:
        step += 1
        gradient = 2 * x * (weight * x - 3 * x) + random.gauss(0, 0.01)
        velocity = 0.9 * velocity - 0.01 / (1 + 0.01 * step) * gradient
        weight += velocity
        average["weight"] = 0.9 * average["weight"] + 0.1 * weight
        loss += (weight * x - 3 * x) ** 2 / 20
    print(f"epoch {epoch} train loss {loss:.4f} average loss {(average['weight'] - 3) ** 2:.4f}")
    saved = {"epoch": epoch + 1, "weight": weight, "velocity": velocity, "step": step, "average": average,
             "data": data, "rng": random.getstate()}
    with open("ckpt.pkl", "wb") as file:
        pickle.dump(saved, file)
