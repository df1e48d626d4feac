"""TensorFlow's global seed."""

import functools


def attend(tensorflow, seeds):
    """Set the global seed, and replace the one that the program sets."""
    plain = tensorflow.random.set_seed
    if hasattr(plain, "_deviate"):
        return
    tensorflow.random.set_seed = wrap(plain, "tensorflow.random.set_seed", seeds)
    old = tensorflow.compat.v1
    old.set_random_seed = old.random.set_random_seed = wrap(
        old.set_random_seed, "tensorflow.compat.v1.set_random_seed", seeds
    )
    plain(seeds.start)


def wrap(plain, call, seeds):
    """Return `plain`, a function of a seed, with the program's seeds replaced."""

    @functools.wraps(plain)
    def set_seed(seed):
        return plain(seeds.replace(call, seed, "tensorflow"))

    set_seed._deviate = True
    return set_seed
