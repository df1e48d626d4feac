"""Initialisers of Keras 3, whose seeds stay as they are from one parameter to the next."""

import functools
import sys

from .keras_random import replaced
from .libraries import INIT


def attend(module, streams):
    """Attend to ``keras.src.initializers.random_initializers``."""
    cls = getattr(module, "RandomInitializer", None)
    if cls is None or hasattr(cls.__init__, "_deviate"):
        return
    plain = cls.__init__

    @functools.wraps(plain)
    def __init__(self, seed=None):
        before = streams.enter(INIT)
        try:
            plain(self, seed)
        finally:
            streams.leave(before)
        if type(self.seed) is int:
            self.seed = replaced(streams, INIT, "seed of an initializer", self.seed, sys._getframe(1))
        elif streams.controls and hasattr(self.seed, "_initial_seed"):
            self.seed = for_init(self.seed)

    __init__._deviate = True
    cls.__init__ = __init__


def for_init(given):
    """Return a seed generator for parameters that stands for one the program gives; the same one each time."""
    if not hasattr(given, "_deviate"):
        # Made in the midst of an initialiser, so it draws for `init`.
        given._deviate = type(given)(given._initial_seed)
    return given._deviate
