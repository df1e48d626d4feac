# Two classes of Gaussian data, and the error that no classifier can go below.
import math

import numpy as np

DATA_SEED = 2019
SEPARATION = 2.0  # distance between the means of the classes, in standard deviations

# Sets of the paper's sizes (training, test), with means so far apart that the lowest error is near the paper's errors:
# 8.2, 36.5 and 46 %. Its third set is 26 features of EEG; this one is Gaussian too.
PAPER = {2: (10_000, 2_000, 2.783), 5: (100_000, 10_000, 0.690), 26: (18_936, 1_154, 0.201)}


def paper_data(dimensions):
    return make_data(dimensions, *PAPER[dimensions])


def make_data(dimensions, train_size, test_size, separation=SEPARATION):
    rng = np.random.default_rng(DATA_SEED)
    mean = np.full(dimensions, separation / math.sqrt(dimensions))

    def draw(size):
        labels = rng.permutation(np.arange(size) % 2)
        points = rng.normal(size=(size, dimensions)) + labels[:, None] * mean
        return points.astype(np.float32), labels.astype(np.int64)

    return draw(train_size), draw(test_size)


def lowest_error(separation=SEPARATION):
    # Of two equally likely Gaussian classes with equal covariance: Phi(-distance / 2).
    return 50 * math.erfc(separation / 2 / math.sqrt(2))
