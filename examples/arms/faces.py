# A made binary task in the likeness of CelebA's blond hair: few positives, and fewest among men and the old.
import numpy as np

DATA_SEED = 2021
FEATURES = 20
# Share of each group, and of positives within it: all of them 14.9 %, men 0.8 %, women 14.1 %, young 12.4 %, old 2.5 % of the data.
SHARE_MALE, SHARE_OLD = 0.42, 0.23
POSITIVE_MALE, POSITIVE_FEMALE = 0.008 / SHARE_MALE, 0.141 / (1 - SHARE_MALE)
OLD_FACTOR = 0.025 / SHARE_OLD / 0.149
YOUNG_FACTOR = 0.124 / (1 - SHARE_OLD) / 0.149


def make_data(size, part):
    rng = np.random.default_rng([DATA_SEED, part])
    male, old = rng.random(size) < SHARE_MALE, rng.random(size) < SHARE_OLD
    share = np.where(male, POSITIVE_MALE, POSITIVE_FEMALE) * np.where(old, OLD_FACTOR, YOUNG_FACTOR)
    blond = rng.random(size) < share
    directions = np.linalg.qr(np.random.default_rng(DATA_SEED).normal(size=(FEATURES, FEATURES)))[0]
    faces = rng.normal(size=(size, FEATURES))
    # what shows hair, what shows sex and age, and hair that shows less in the old
    faces += np.outer(blond * np.where(old, 2.0, 3.0), directions[0])
    faces += np.outer(male * 2.0, directions[1] - 0.3 * directions[0]) + np.outer(old * 2.0, directions[2])
    return faces.astype(np.float32), blond.astype(np.int64), male, old


def training_part():
    return make_data(4000, part=0)


def test_part():
    return make_data(6000, part=1)
