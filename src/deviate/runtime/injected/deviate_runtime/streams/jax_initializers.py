"""``jax.nn.initializers``, which Flax takes its own from: the functions they return draw for `init`."""

import functools

from .jax_random import keys_of
from .libraries import INIT
from .streams import DATA

FACTORIES = (
    "delta_orthogonal glorot_normal glorot_uniform he_normal he_uniform kaiming_normal kaiming_uniform lecun_normal"
    " lecun_uniform normal orthogonal truncated_normal uniform variance_scaling xavier_normal xavier_uniform"
).split()


def attend(module, streams):
    """Wrap the functions that make initialisers."""
    for name in FACTORIES:
        plain = getattr(module, name, None)
        if plain is not None and not hasattr(plain, "_deviate"):
            setattr(module, name, wrap(plain, streams))


def wrap(factory, streams):
    """Return `factory`; the initialisers it makes fold the seed of `init` into their keys."""

    @functools.wraps(factory)
    def make(*args, **kwargs):
        initializer = factory(*args, **kwargs)

        @functools.wraps(initializer)
        def init(key, *args, **kwargs):
            factor = DATA if streams.current == DATA else INIT
            return initializer(keys_of(streams).fold(key, factor), *args, **kwargs)

        return init

    make._deviate = True
    return make
