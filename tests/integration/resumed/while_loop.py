"""A loop that counts steps, and saves every third one: the steps since are made again."""

import json
import os
import random

random.seed(2)
target = [random.random() for _ in range(5)]
weights, step, temperature = [0.0] * 5, 0, 1.0
if os.path.exists("last.ckpt"):
    with open("last.ckpt") as file:
        saved = json.load(file)
    step = saved["step"]
    weights = saved["weights"]  # restores variable weights
    temperature = saved["temperature"]  # restores variable temperature
    version, inner, extra = saved["rng"]
    random.setstate((version, tuple(inner), extra))  # restores generator random
while step < 12:
    place = random.randrange(5)
    weights[place] += 0.3 * temperature * (target[place] - weights[place])
    temperature *= 0.95
    step += 1
    loss = sum((a - b) ** 2 for a, b in zip(weights, target))
    print(f"step {step} loss {loss:.6f}")
    if step % 3 == 0:
        with open("last.ckpt", "w") as file:
            json.dump({"step": step, "weights": weights, "temperature": temperature, "rng": random.getstate()}, file)
