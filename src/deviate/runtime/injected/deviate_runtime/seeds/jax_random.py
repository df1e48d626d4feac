"""JAX: keys made from a number in the program."""

import functools

MAKERS = ("PRNGKey", "key")


def attend(jax_random, seeds):
    """Replace the numbers that keys are made from."""
    for name in MAKERS:
        plain = getattr(jax_random, name, None)
        if plain is not None and not hasattr(plain, "_deviate"):
            setattr(jax_random, name, wrap(plain, name, seeds))


def wrap(plain, name, seeds):
    """Return `plain` with a number of the program replaced; a traced value passes as it is."""

    @functools.wraps(plain)
    def make_key(seed, *args, **kwargs):
        if isinstance(seed, int) or type(seed).__module__ == "numpy":
            seed = seeds.replace("jax.random." + name, seed, "jax")
        return plain(seed, *args, **kwargs)

    make_key._deviate = True
    return make_key
