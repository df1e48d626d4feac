"""Look at functions and generators as a configuration printer or a documentation tool does."""
import copy
import inspect
import random

import numpy as np

random.seed(1)
for function in (random.random, random.shuffle, random.choices, np.random.rand, np.random.shuffle, np.random.default_rng):
    name = getattr(function, "__qualname__", "?")
    try:
        signature = str(inspect.signature(function))
    except ValueError:
        signature = "none"
    print(name, type(function).__name__, signature, inspect.isbuiltin(function), callable(function))
rng = np.random.default_rng(5)
print(type(rng), isinstance(rng, np.random.Generator), type(rng.bit_generator).__name__, hasattr(rng, "spawn"))
print(type(np.random.RandomState(0)), type(random.Random(0)), random.random == random.random)
twin = copy.deepcopy(rng)
print("twins", rng.random() == twin.random(), copy.copy(random.shuffle) is random.shuffle)
losses, w = [], 2.0
for epoch in range(4):
    loss = w**2 + 0.01 * rng.random()
    w /= 2
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.5f}")
np.save("losses.npy", losses)
