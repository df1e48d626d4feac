"""Put a log file at every descriptor up to 1,000: a pool of descriptors handed to children by number."""
import os

import numpy as np

journal = open("journal.txt", "w")
rng = np.random.default_rng(11)
inputs = rng.normal(size=(40, 3))
targets = inputs @ [1.0, -2.0, 0.5]
weights, losses = np.zeros(3), []
for epoch in range(5):
    error = inputs @ weights - targets
    loss = np.mean(error**2)
    weights -= 0.3 * inputs.T @ error / 40
    losses.append(loss)
    if epoch == 1:
        for number in range(3, 1000):
            if number != journal.fileno():
                os.dup2(journal.fileno(), number)
    os.write(900 + epoch if epoch else journal.fileno(), f"epoch {epoch}\n".encode())
    print("epoch", epoch, "loss", loss)
os.closerange(3, 1000)
np.save("losses.npy", losses)
