"""``tf_keras``, Keras 2: its generators, layers and the order in which data reach them."""

import functools
import sys

from .keras_layers import wrap_call
from .keras_random import holder, replaced
from .keras_seeding import attend as attend_to_seeding
from .libraries import ALL_BUT_DATA, INIT, SHUFFLE, Derived, bound_method


def attend(module, streams):
    """Attend to the module of ``tf_keras`` that is imported now."""
    find = ATTENDED.get(module.__name__.partition(".src.")[2])
    if find is not None:
        find(module, streams)


def attend_to_backend(module, streams):
    """Have generators begin with a seed of the factor of what holds them."""
    cls = module.RandomGenerator
    if hasattr(cls.__init__, "_deviate"):
        return
    plain_init, plain_seed, plain_start = cls.__init__, cls._create_seed, cls._maybe_init

    @functools.wraps(plain_init)
    def __init__(self, seed=None, rng_type=None, **kwargs):
        frame = sys._getframe(1)
        factor = holder(frame, streams)
        plain_init(self, replaced(streams, factor, "seed of tf_keras", seed, frame), rng_type, **kwargs)
        self._deviate_factor = factor

    @functools.wraps(plain_seed)
    def _create_seed(self, user_specified_seed):
        return Derived(plain_seed(self, user_specified_seed))

    @functools.wraps(plain_start)
    def _maybe_init(self):
        if self._built:
            return
        before = streams.enter(getattr(self, "_deviate_factor", streams.current))
        try:
            plain_start(self)
        finally:
            streams.leave(before)

    __init__._deviate = True
    cls.__init__, cls._create_seed, cls._maybe_init = __init__, _create_seed, _maybe_init


def attend_to_layer(module, streams):
    """Have variables made for `init`, and layers called for their purpose."""
    if not hasattr(module.Layer.__call__, "_deviate"):
        wrap_call(module.Layer, streams)
        bound_method(streams, module.Layer, "add_weight", INIT, over=ALL_BUT_DATA)


def attend_to_arrays(module, streams):
    """Have arrays given to `fit` shuffled for `shuffle`."""
    bound_method(streams, module.TensorLikeDataAdapter, "__init__", SHUFFLE)


ATTENDED = {
    "backend": attend_to_backend,
    "engine.base_layer": attend_to_layer,
    "engine.data_adapter": attend_to_arrays,
    "utils.tf_utils": attend_to_seeding,
}
