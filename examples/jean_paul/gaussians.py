# Two classes of Gaussian data, and the error that no classifier can go below.
import math

import numpy as np

DATA_SEED = 2019
SEPARATION = 2.0  # distance between the means of the classes, in standard deviations


def make_data(dimensions, train_size, test_size):
    rng = np.random.default_rng(DATA_SEED)
    mean = np.full(dimensions, SEPARATION / math.sqrt(dimensions))

    def draw(size):
        labels = rng.permutation(np.arange(size) % 2)
        points = rng.normal(size=(size, dimensions)) + labels[:, None] * mean
        return points.astype(np.float32), labels.astype(np.int64)

    return draw(train_size), draw(test_size)


def lowest_error():
    # Of two equally likely Gaussian classes with equal covariance: Phi(-distance / 2).
    return 50 * math.erfc(SEPARATION / 2 / math.sqrt(2))
