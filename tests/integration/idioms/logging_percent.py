"""The logging module formats."""

# expect loss = loss[ =:]+(\S+?)[,\s]

import logging
import random
import sys

rng = random.Random(0)
weight = 0.0
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format='%(message)s')
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    logging.info('epoch %d loss %.4f', epoch, loss)
