"""A loop without end that stops by itself; the best so far is shown after it."""

# expect loss = step \d+ loss (\S+)
# expect best loss = best loss (\S+)

import random

rng = random.Random(0)
weight, step, best_loss = 0.0, 0, float('inf')
while True:
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    print(f'step {step} loss {loss:.6f}')
    best_loss = min(best_loss, loss)
    step += 1
    if step == 4:
        break
print('best loss', best_loss)
