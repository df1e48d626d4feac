"""A function of the project prints and keeps a file."""

# expect loss = loss[ =:]+(\S+?)[,\s]

import random

rng = random.Random(0)
weight = 0.0
def log(text):
    print('[run]', text)
    with open('log.txt', 'a') as stream:
        stream.write(text + '\n')
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    log('epoch %d loss %.4f ' % (epoch, loss))
