"""tensorboard_logger and its global logger."""

# expect loss = loss[ =:]+(\S+?)[,\s]

import random

import tensorboard_logger as logger

rng = random.Random(0)
weight = 0.0
logger.configure('runs')
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    logger.log_value('loss', loss, epoch)
