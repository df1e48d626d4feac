"""The second of two scripts: the stored line is tried on new points."""

import json

with open("model.json") as file:
    model = json.load(file)
errors = [abs(model["slope"] * x + model["intercept"] - (3 * x + 1)) for x in range(3)]
print(f"test mae: {sum(errors) / len(errors):.5f}  worst: {max(errors):.5f}")
