"""A print function that is handed the file."""

# expect loss = loss[ =:]+(\S+?)[,\s]

import random

rng = random.Random(0)
weight = 0.0
def print_log(text, stream):
    print(text)
    stream.write('{}\n'.format(text))
    stream.flush()


stream = open('run.log', 'w')
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    print_log('loss {:.5f} '.format(loss), stream)
stream.close()
