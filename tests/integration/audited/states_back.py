"""States of NumPy and of Python are put back after a look at what they draw: no draws of their own."""

# varies: data shuffle
# absent: init augment layers other

import random

import numpy as np

order = list(range(8))
states = np.random.get_state(), random.getstate()
np.random.permutation(order)
random.shuffle(order[:])
np.random.set_state(states[0])
random.setstate(states[1])
weight = 0.0
for epoch in range(4):
    random.shuffle(order)
    for index in np.random.permutation(order):
        weight += 0.1 * (index - weight) * order[index]
    print(f"epoch {epoch} loss: {weight:.6f}")
