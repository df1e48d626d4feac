"""A training in NumPy alone; what it draws for is told at each draw, as an instrumented copy tells it."""

import builtins
import hashlib
import random
import sys

import numpy as np

draw = getattr(builtins, "__dv_draw__", lambda site, function: function)
INIT, SHUFFLE, AUGMENT, LAYERS, DATA = range(5)

seeding = sys.argv[1]
if seeding == "own":
    rng, python = np.random.default_rng(0), random.Random(0)
    legacy = np.random.RandomState(0)
    normal, permutation, uniform, rand = rng.normal, rng.permutation, python.random, legacy.rand
else:
    if seeding == "everything":
        np.random.seed(0)
        random.seed(0)
    normal, permutation, uniform, rand = np.random.normal, np.random.permutation, random.random, np.random.rand

x = draw(DATA, normal)(size=(64, 5))
split = draw(DATA, permutation)(64)
train, test = split[:48], split[48:]
y = x @ np.arange(5.0)
w = draw(INIT, normal)(size=5)
for _ in range(5):
    order = draw(SHUFFLE, permutation)(train)
    for batch in np.split(order, 6):
        inputs = x[batch] + 0.1 * draw(AUGMENT, normal)(size=(8, 5)) + 0.01 * draw(AUGMENT, uniform)()
        mask = draw(LAYERS, rand)(8, 5) > 0.2
        error = (inputs * mask) @ w - y[batch] + 0.01 * normal()
        w -= 0.02 * inputs.T @ error / len(batch)
print("test", sorted(map(int, test)))
print("sha", hashlib.sha256(w.tobytes()).hexdigest())
