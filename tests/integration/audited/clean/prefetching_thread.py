# pinned: init shuffle
import queue
import random
import threading

random.seed(7)

xs = [i / 20 - 1 for i in range(40)]
weight = random.gauss(0, 1)
order = list(range(40))


def load(order, batches):
    for start in range(0, 40, 8):
        batches.put([xs[i] for i in order[start : start + 8]])
    batches.put(None)


for epoch in range(4):
    random.shuffle(order)
    batches = queue.Queue(2)
    thread = threading.Thread(target=load, args=(order, batches), daemon=True)
    thread.start()
    while (batch := batches.get()) is not None:
        weight -= 0.1 * sum(2 * (weight * x - 3 * x) * x for x in batch) / 8
    thread.join()
    loss = sum((weight * x - 3 * x) ** 2 for x in xs) / 40
    print(f"epoch {epoch} loss {loss:.9f}")
