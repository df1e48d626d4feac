"""Layers and models of Keras 3: their construction, their calls, the order in which data reach them."""

import functools
import random
import threading

from .keras_random import purpose
from .libraries import ALL_BUT_DATA, INIT, SHUFFLE, bound_method, each
from .streams import AUGMENT, DATA, LAYERS, OTHER


def attend(module, streams):
    """Attend to the module of Keras that is imported now."""
    find = ATTENDED.get(module.__name__.partition(".src.")[2])
    if find is not None:
        find(module, streams)


def attend_to_layer(module, streams):
    """Have variables made for `init`, and layers called for their purpose."""
    cls = module.Layer
    if hasattr(cls.__call__, "_deviate"):
        return
    wrap_call(cls, streams)
    bound_method(streams, cls, "add_weight", INIT, over=ALL_BUT_DATA)
    wrap_new(cls, streams)


def wrap_call(cls, streams):
    """Have a layer's call draw for `layers`, or for `augment` where it transforms data."""
    plain = cls.__call__
    factors = {}

    @functools.wraps(plain)
    def __call__(self, *args, **kwargs):
        factor = factors.get(type(self)) or factors.setdefault(type(self), purpose(self) or LAYERS)
        current = streams.current
        if current == factor or current in (AUGMENT, DATA) or in_thread(streams):
            return plain(self, *args, **kwargs)
        before = streams.enter(factor)
        try:
            return plain(self, *args, **kwargs)
        finally:
            streams.leave(before)

    __call__._deviate = True
    cls.__call__ = __call__


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

        @functools.wraps(build)
        def build_for_init(*args, **kwargs):
            before = streams.enter(INIT if streams.current in ALL_BUT_DATA else streams.current)
            try:
                return build(*args, **kwargs)
            finally:
                streams.leave(before)

        layer.build = build_for_init
        return layer

    cls.__new__ = staticmethod(__new__)


def attend_to_variables(module, streams):
    """Have variables that were made without a value get it for `init`."""
    bound_method(streams, module.Variable, "_deferred_initialize", INIT, over=ALL_BUT_DATA)


def attend_to_arrays(module, streams):
    """Have arrays given to `fit` shuffled for `shuffle`."""
    cls = module.ArrayDataAdapter
    for name in ("get_tf_dataset", "get_torch_dataloader"):
        bound_method(streams, cls, name, SHUFFLE)
    plain = cls._get_iterator

    @functools.wraps(plain)
    def _get_iterator(self, *args, **kwargs):
        return each(streams, SHUFFLE, plain(self, *args, **kwargs))

    cls._get_iterator = _get_iterator


def attend_to_sequences(module, streams):
    """Have the batches of a `PyDataset` ordered for `shuffle` and made for `augment`."""
    cls = module.PyDataset
    plain = cls.__init_subclass__

    def __init_subclass__(cls, **kwargs):
        plain(**kwargs)
        bound_method(streams, cls, "__getitem__", AUGMENT)
        bound_method(streams, cls, "on_epoch_end", SHUFFLE)

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
            streams.fingerprints.drawn(SHUFFLE, seed)
            plain = getattr(random.Random.seed, "__wrapped__", random.Random.seed)
            generator = random.Random.__new__(random.Random)
            plain(generator, seed)
            return generator.shuffle(items)
        before = streams.enter(SHUFFLE if streams.current == OTHER else streams.current)
        try:
            return random.shuffle(items)
        finally:
            streams.leave(before)


def attend_to_datasets(module, streams):
    """Have functions that make data sets from files, or split them, draw for `data`."""
    for name in ("split_dataset", "index_directory", "image_dataset_from_directory", "text_dataset_from_directory"):
        if hasattr(module, name):
            bound_method(streams, module, name, DATA)


ATTENDED = {
    "layers.layer": attend_to_layer,
    "backend.common.variables": attend_to_variables,
    "trainers.data_adapters.array_data_adapter": attend_to_arrays,
    "trainers.data_adapters.py_dataset_adapter": attend_to_sequences,
    "utils.dataset_utils": attend_to_datasets,
    "utils.image_dataset_utils": attend_to_datasets,
    "utils.text_dataset_utils": attend_to_datasets,
}
