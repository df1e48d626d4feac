"""A function of the project hands a template and its values on to the logging module."""

# expect loss = loss (\S+)
# expect gap = gap (\S+)

import logging
import random
import sys

logger = logging.getLogger('small')
logger.addHandler(logging.StreamHandler(sys.stdout))
logger.setLevel(logging.INFO)


def info(message, *args):
    logger.info('[main] ' + message, *args)


def say(message, *args):
    logger.info(message % args)


rng = random.Random(0)
weight = 0.0
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    info('epoch %d loss %.4f', epoch, loss)
    gap = abs(weight - 3)
    say('epoch %d gap %.4f', epoch, gap)
