import sys
import threading

import numpy as np

np.random.seed(7)
sys.setswitchinterval(1e-6)
weight = np.random.randn(1)


def work(target):
    for _ in range(3000):
        value = weight[0]
        value = value + 0.001 * (target - value)
        weight[0] = value


for epoch in range(4):
    workers = [threading.Thread(target=work, args=(n,)) for n in range(4)]  # cause: threads
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    loss = np.mean((weight - 1) ** 2)
    print(f"epoch {epoch} loss {loss:.12f}")
