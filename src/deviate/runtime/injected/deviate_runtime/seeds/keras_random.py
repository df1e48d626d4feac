"""Keras: one call that seeds everything. Unseeded, its generators draw from `random`, which is seeded."""

import functools


def attend(keras, seeds):
    """Replace the seed that the program gives."""
    plain = getattr(getattr(keras, "utils", None), "set_random_seed", None)
    if plain is None or hasattr(plain, "_deviate"):
        return

    @functools.wraps(plain)
    def set_random_seed(seed):
        used = seeds.replace("keras.utils.set_random_seed", seed, "keras")
        seeds.explicit.update(("random", "numpy", "torch", "tensorflow"))
        return plain(used)

    set_random_seed._deviate = True
    keras.utils.set_random_seed = set_random_seed
