"""Draw batches in spawned workers, each with a seed of its own."""
import multiprocessing as mp

import numpy as np


def produce(number, queue):
    rng = np.random.default_rng(number)
    for _ in range(5):
        queue.put(rng.normal(size=(8, 2)))
    queue.put(None)


if __name__ == "__main__":
    context = mp.get_context("spawn")
    queues = [context.Queue() for _ in range(2)]
    workers = [context.Process(target=produce, args=(i, queues[i])) for i in range(2)]
    for worker in workers:
        worker.start()
    weights, losses = np.zeros(2), []
    for epoch in range(5):
        batch = np.concatenate([queue.get() for queue in queues])
        error = batch @ weights - batch.sum(axis=1)
        loss = float(np.mean(error**2))
        weights -= 0.3 * batch.T @ error / len(batch)
        losses.append(loss)
        print(f"epoch {epoch} loss {loss:.5f}")
    for worker in workers:
        worker.join()
    print("workers ended with", [worker.exitcode for worker in workers])
    np.save("losses.npy", losses)
