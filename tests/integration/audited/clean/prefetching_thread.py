# pinned: init shuffle
import queue
import threading

import numpy as np

np.random.seed(7)

x = np.linspace(-1, 1, 40)
weight = np.random.randn()


def load(order, batches):
    for start in range(0, 40, 8):
        batches.put(x[order[start : start + 8]])
    batches.put(None)


for epoch in range(4):
    order = np.random.permutation(40)
    batches = queue.Queue(2)
    thread = threading.Thread(target=load, args=(order, batches), daemon=True)
    thread.start()
    while (batch := batches.get()) is not None:
        weight -= 0.1 * np.mean(2 * (weight * batch - 3 * batch) * batch)
    thread.join()
    loss = np.mean((weight * x - 3 * x) ** 2)
    print(f"epoch {epoch} loss {loss:.9f}")
