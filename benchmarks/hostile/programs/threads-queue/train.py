"""A thread trains, the main thread prints what comes through a queue."""
import queue
import threading

import numpy as np

results = queue.Queue()


def trainer():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 3))
    y = x @ [1, 2, 3]
    w = np.zeros(3)
    for epoch in range(6):
        e = x @ w - y
        w -= 0.3 * x.T @ e / len(x)
        results.put((epoch, float(np.mean(e**2))))
    results.put(None)


thread = threading.Thread(target=trainer, daemon=True)
thread.start()
losses = []
while (item := results.get()) is not None:
    epoch, loss = item
    losses.append(loss)
    print("epoch", epoch, "| loss", f"{loss:.5f}")
thread.join()
np.save("losses.npy", losses)
