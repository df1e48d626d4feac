"""A metric object of Keras."""

# expect loss = loss[ =:]+(\S+?)[,\s]

import random

from keras import metrics

rng = random.Random(0)
weight = 0.0
metric = metrics.Mean(name='loss')
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    metric.update_state(loss)
    print('loss', metric.result(), 'x')
    metric.reset_state()
