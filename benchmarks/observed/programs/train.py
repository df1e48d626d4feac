"""The first of two scripts: a line is fitted and stored."""

import json
import random

data = [(x / 20, 3 * x / 20 + 1 + random.gauss(0, 0.3)) for x in range(40)]
slope = intercept = 0.0
for epoch in range(5):
    random.shuffle(data)
    squares = 0.0
    for x, y in data:
        error = slope * x + intercept - y
        squares += error**2
        slope, intercept = slope - 0.05 * error * x, intercept - 0.05 * error
    print(f"Epoch {epoch}: mse {squares / len(data):.5f}")
with open("model.json", "w") as file:
    json.dump({"slope": slope, "intercept": intercept}, file)
