"""Flax (nnx): streams of keys, by their names.

A stream that another name falls back to draws for what is asked for: ``rngs.params()`` for parameters, the stream that
a dropout layer forks off for the layer.
"""

import functools

from .flax_scopes import factor_of
from .jax_random import keys_of

DEFAULT = "default"


def attend(module, streams):
    """Attend to ``flax.nnx.rnglib``."""
    if hasattr(module.RngStream.__call__, "_deviate"):
        return
    asked = Asked()
    wrap_lookup(module.Rngs, asked)
    wrap_call(module.RngStream, streams, asked)


class Asked:
    """The name under which a stream was last asked for."""

    stream = None
    name = None

    def take(self, stream):
        """Return that name if it led to `stream`, which draws now."""
        name = self.name if self.stream == id(stream) else None
        self.stream = self.name = None
        return name


def wrap_lookup(cls, asked):
    """Remember the name that a stream was found under."""
    plain = getattr(cls, "_get_stream", None)
    if plain is None:
        return

    @functools.wraps(plain)
    def _get_stream(self, name, error_type):
        stream = plain(self, name, error_type)
        asked.stream, asked.name = id(stream), name
        return stream

    cls._get_stream = _get_stream


def wrap_call(cls, streams, asked):
    """Fold the factor's seed into each key that a stream gives, unless nothing tells what it is for."""
    plain = cls.__call__

    @functools.wraps(plain)
    def __call__(self):
        key = plain(self)
        name = self.tag if self.tag != DEFAULT else asked.take(self)
        if name is None or name == DEFAULT:
            # What draws with the key tells.
            return key
        return keys_of(streams).fold(key, factor_of(streams, name))

    __call__._deviate = True
    cls.__call__ = __call__
