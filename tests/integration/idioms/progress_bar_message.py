"""A progress bar that is given a text."""

# expect loss = loss: (\S+)
# expect gap = gap: (\S+)

import random
import sys

rng = random.Random(0)
weight = 0.0
def progress_bar(current, total, message=None):
    sys.stdout.write(' [' + '=' * current + '.' * (total - current) + '] ')
    if message:
        sys.stdout.write(message)
    sys.stdout.write('%d/%d\n' % (current + 1, total))
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    progress_bar(epoch, 3, 'loss: %.3f | gap: %.3f ' % (loss, abs(weight - 3)))
