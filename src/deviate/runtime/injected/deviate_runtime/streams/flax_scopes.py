"""Flax (linen): the keys that a module is initialised or applied with, by the name of their stream."""

import functools

from .jax_random import keys_of
from .libraries import INIT
from .streams import AUGMENT, DATA, LAYERS

#: The stream that parameters are drawn from; without another one, layers draw from it too.
PARAMS = "params"


def attend(module, streams):
    """Attend to ``flax.core.scope``."""
    cls, lazy = module.Scope, getattr(module, "LazyRng", ())
    if hasattr(cls.__init__, "_deviate"):
        return
    plain = cls.__init__

    @functools.wraps(plain)
    def __init__(self, variables, rngs=None, *args, **kwargs):
        if rngs:
            rngs = {name: folded(streams, lazy, name, key) for name, key in rngs.items()}
        plain(self, variables, rngs, *args, **kwargs)

    __init__._deviate = True
    cls.__init__ = __init__


def folded(streams, lazy, name, key):
    """Return a key that enters a module, with the seed of its stream's factor in it; inside, it stays as it is."""
    return key if isinstance(key, lazy) else keys_of(streams).fold(key, factor_of(streams, name))


def factor_of(streams, name):
    """Return the factor that draws from the stream called `name`."""
    if streams.current in (AUGMENT, DATA):
        return streams.current
    return INIT if name == PARAMS and streams.current != LAYERS else LAYERS
