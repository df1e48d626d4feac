"""A configuration holds functions that draw; it is pickled and copied before the training."""
import copy
import pickle
import random
from functools import partial

import numpy as np

random.seed(0)
np.random.seed(0)
config = {
    "noise": random.gauss,
    "draw": partial(random.uniform, 0, 1),
    "own": random.Random(4),
    "method": random.Random(5).random,
    "generator": np.random.default_rng(1),
    "state": np.random.RandomState(2),
    "legacy": np.random.normal,
    "normal": np.random.default_rng(3).normal,
}
restored = pickle.loads(pickle.dumps(config))
copied = copy.deepcopy(config)
for name in ("own", "generator", "state"):
    print(name, type(restored[name]).__module__, type(copied[name]).__qualname__)
same = [c["own"].random() + c["generator"].random() + c["state"].rand() + c["method"]() for c in (restored, copied)]
print("copies draw alike:", same[0] == same[1])
w, losses = 1.0, []
for epoch in range(5):
    loss = w * w + 0.01 * abs(restored["noise"](0, 1)) + 0.01 * copied["draw"]() + 0.001 * copied["normal"]() ** 2
    w *= 0.6
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.6f}")
np.save("losses.npy", losses)
