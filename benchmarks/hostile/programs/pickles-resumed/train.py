"""Save a checkpoint with every generator's state, go back to it, and expect the same draws."""
import pickle
import random

import numpy as np

random.seed(3)
np.random.seed(3)
rng = np.random.default_rng(3)


def step(w):
    noise = random.random() + np.random.rand() + rng.random()
    return w - 0.3 * (w - 1) + 0.01 * noise, (w - 1) ** 2 + 0.01 * noise


w, losses = 3.0, []
for epoch in range(3):
    w, loss = step(w)
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.5f}")
with open("state.pkl", "wb") as file:
    pickle.dump({"w": w, "python": random.getstate(), "numpy": np.random.get_state(), "rng": rng}, file)
first = [step(w)[1] for _ in range(3)]
with open("state.pkl", "rb") as file:
    state = pickle.load(file)
random.setstate(state["python"])
np.random.set_state(state["numpy"])
rng = state["rng"]
print("resumed alike:", first == [step(state["w"])[1] for _ in range(3)])
np.save("losses.npy", losses)
