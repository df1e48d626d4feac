"""Haiku: the key that a transformed function is initialised or applied with."""

import functools

from .jax_random import keys_of
from .libraries import INIT
from .streams import LAYERS


def attend(module, streams):
    """Attend to ``haiku._src.transform``."""
    plain = getattr(module, "to_prng_sequence", None)
    if plain is None or hasattr(plain, "_deviate"):
        return
    init_message = getattr(module, "INIT_RNG_ERROR", None)

    @functools.wraps(plain)
    def to_prng_sequence(rng, err_msg):
        if hasattr(rng, "dtype"):
            rng = keys_of(streams).fold(rng, INIT if err_msg == init_message else LAYERS)
        return plain(rng, err_msg)

    to_prng_sequence._deviate = True
    module.to_prng_sequence = to_prng_sequence
