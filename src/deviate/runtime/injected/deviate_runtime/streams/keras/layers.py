"""Layers and models of Keras: their construction, their calls, the order in which data reach them."""

import functools
import random
import threading

from ...factors import ALL_BUT_DATA, AUGMENT, DATA, INIT, LAYERS, OTHER, SHUFFLE
from ...patching import replaces
from ..boundaries import bind, iterate
from .random import purpose

#: The module whose layers multiply by a matrix.
DENSE = "keras.src.layers.core.dense"


def patch_layer(module, streams):
    """Have layers called for their purpose and, in Keras 3, built for `init`."""
    if not hasattr(module.Layer.__call__, "_deviate"):
        wrap_call(module.Layer, streams)
        if module.__name__ == "keras.src.layers.layer":
            wrap_new(module.Layer, streams)


def wrap_call(cls, streams):
    """Have a layer's call draw for `layers`, or for `augment` where it transforms data."""
    plain = cls.__call__
    factors = {}
    called, see_input = streams.process.after_layers()

    @replaces(cls, "__call__")
    def __call__(self, *args, **kwargs):
        if see_input is not None and type(self).__module__ == DENSE:
            see_input(args)
        factor = factors.get(type(self)) or factors.setdefault(type(self), purpose(self) or LAYERS)
        current = streams.current
        if current == factor or current in (AUGMENT, DATA) or in_thread(streams):
            return plain(self, *args, **kwargs)
        before = streams.enter(factor)
        try:
            returned = plain(self, *args, **kwargs)
        finally:
            streams.leave(before)
        if called is not None and before == OTHER:
            called(self, args, kwargs, returned)
        return returned


def in_thread(streams):
    """Tell whether another thread than the program's first one runs."""
    return threading.get_ident() != streams.thread


def wrap_new(cls, streams):
    """Have the method `build` of each layer draw for `init`."""
    plain = cls.__new__

    @functools.wraps(plain)
    def __new__(cls, *args, **kwargs):
        layer = plain(cls, *args, **kwargs)
        build = layer.build

        @replaces(layer, "build")
        def build_for_init(*args, **kwargs):
            before = streams.enter(INIT if streams.current in ALL_BUT_DATA else streams.current)
            try:
                return build(*args, **kwargs)
            finally:
                streams.leave(before)

        return layer

    cls.__new__ = staticmethod(__new__)


def patch_arrays(module, streams):
    """Have arrays given to `fit` shuffled for `shuffle`, and take down what they hold."""
    cls = module.ArrayDataAdapter
    name = "_get_iterator" if hasattr(cls, "_get_iterator") else "get_numpy_iterator"  # up to Keras 3.0
    plain, plain_init = getattr(cls, name), cls.__init__

    @replaces(cls, "__init__")
    def __init__(self, *args, **kwargs):
        streams.examples.add_arrays((args[:2], kwargs.get("x"), kwargs.get("y")))
        plain_init(self, *args, **kwargs)

    @replaces(cls, name)
    def batches(self, *args, **kwargs):
        once = getattr(self, "_shuffle", "batch") != "batch"
        return iterate(streams, SHUFFLE, plain(self, *args, **kwargs), once)


def patch_sequences(module, streams):
    """Have the batches of a `PyDataset` ordered for `shuffle` and made for `augment`."""
    cls = module.PyDataset
    plain = cls.__init_subclass__

    def __init_subclass__(cls, **kwargs):
        plain(**kwargs)
        bind(streams, cls, "__getitem__", AUGMENT)
        bind(streams, cls, "on_epoch_end", SHUFFLE)

    cls.__init_subclass__ = classmethod(__init_subclass__)
    module.random = Random(streams)


class Random:
    """Stands for the module `random` where Keras orders batches, sometimes in a thread."""

    def __init__(self, streams):
        self.streams = streams

    def __getattr__(self, name):
        return getattr(random, name)

    def shuffle(self, items):
        """Shuffle for `shuffle`; draws of a thread meet no other's."""
        streams = self.streams
        if in_thread(streams) and streams.controls:
            seed = streams.seed(SHUFFLE, streams.next_key("keras.utils.PyDataset"))
            streams.fingerprints.add_draw(SHUFFLE, seed)
            plain = getattr(random.Random.seed, "__wrapped__", random.Random.seed)
            generator = random.Random.__new__(random.Random)
            plain(generator, seed)
            return generator.shuffle(items)
        return streams.call(SHUFFLE if streams.current == OTHER else streams.current, random.shuffle, items)
