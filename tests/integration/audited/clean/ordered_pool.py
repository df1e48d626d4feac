# pinned: init
import random
from concurrent.futures import ThreadPoolExecutor

random.seed(7)
parts = [[(50 * n + i) / 200 - 1 for i in range(50)] for n in range(8)]
weight = random.gauss(0, 1)
for epoch in range(4):
    with ThreadPoolExecutor(4) as pool:
        slopes = list(pool.map(lambda part: sum(2 * (weight * x - 3 * x) * x for x in part) / 50, parts))
    weight -= 0.1 * sum(slopes) / len(slopes)
    loss = sum((weight * x - 3 * x) ** 2 for part in parts for x in part) / 400
    print(f"epoch {epoch} loss {loss:.9f}")
