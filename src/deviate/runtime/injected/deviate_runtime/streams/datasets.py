"""Data sets of Hugging Face: what is done before the training draws for ``data``, later orders for ``shuffle``.

`Dataset.map` and `filter` draw in functions of the program's: for ``data`` before the training's loop, for ``augment``
in it.
"""

import functools
import sys

from ..factors import AUGMENT, DATA, OTHER, SHUFFLE
from ..patching import replaces
from .seeds import replaced
from .sklearn import is_number

#: What a pickled function of the program's contains that draws.
DRAWING = b"__dv_draw__"


def patch_fingerprints(module, streams):
    """Have no run read cached results of functions that drew in another one.

    Names of such results that are drawn at random are drawn by the system; those made of a function that draws have the
    process in them.
    """
    from random import SystemRandom

    if hasattr(module, "fingerprint_rng"):
        module.fingerprint_rng = SystemRandom()
    if not streams.controls or not hasattr(module.Hasher, "hash_bytes"):
        return
    plain, salt = module.Hasher.hash_bytes, b"%x" % SystemRandom().getrandbits(64)

    @functools.wraps(plain)
    def hash_bytes(cls, value):
        parts = [value] if isinstance(value, bytes) else list(value)
        return plain([*parts, salt] if any(DRAWING in part for part in parts) else value)

    module.Hasher.hash_bytes = classmethod(hash_bytes)


def patch_datasets(module, streams):
    """Have the methods of data sets draw for their factors."""
    wrap(module.Dataset, "train_test_split", streams, DATA, DATA)
    wrap(module.Dataset, "shuffle", streams, DATA, SHUFFLE)
    for name in ("map", "filter"):
        wrap(module.Dataset, name, streams, DATA, AUGMENT)


def patch_iterables(module, streams):
    """Have data sets that are read as they come be shuffled for ``shuffle``."""
    wrap(module.IterableDataset, "shuffle", streams, SHUFFLE, SHUFFLE)


def wrap(cls, name, streams, before, within):
    """Have a method draw for `before` or `within` the training's loop, unless another factor draws."""
    plain = vars(cls).get(name)
    if plain is None or hasattr(plain, "_deviate"):
        return
    call = "%s.%s" % (cls.__name__, name)

    @replaces(cls, name)
    def method(self, *args, **kwargs):
        factor = streams.current
        if factor == OTHER:
            factor = before if streams.process.iteration < 0 else within
        if is_number(kwargs.get("seed")):
            seed = int(kwargs["seed"])
            kwargs["seed"] = int(replaced(streams, factor, "datasets", call, seed, sys._getframe(1)))
        elif name == "shuffle" and args and is_number(args[0]):
            seed = int(args[0])
            args = (int(replaced(streams, factor, "datasets", call, seed, sys._getframe(1))), *args[1:])
        return streams.call(factor, plain, self, *args, **kwargs)
