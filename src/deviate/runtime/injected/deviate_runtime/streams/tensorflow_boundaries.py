"""Where a program of TensorFlow's goes from one purpose to another."""

import types

from .libraries import INIT, SHUFFLE, attribute, bound_method, boundary
from .streams import AUGMENT, LAYERS

#: Functions that are made for one purpose.
PURPOSES = {
    "random.shuffle": SHUFFLE,
    "nn.dropout": LAYERS,
    "nn.experimental.general_dropout": LAYERS,
    "image.random_brightness": AUGMENT,
    "image.random_contrast": AUGMENT,
    "image.random_crop": AUGMENT,
    "image.random_flip_left_right": AUGMENT,
    "image.random_flip_up_down": AUGMENT,
    "image.random_hue": AUGMENT,
    "image.random_jpeg_quality": AUGMENT,
    "image.random_saturation": AUGMENT,
    "image.sample_distorted_bounding_box": AUGMENT,
}


def attend(tensorflow, streams, generator):
    """Have functions and modules draw for the factor they are made for."""
    for path, factor in PURPOSES.items():
        owner, _, name = path.rpartition(".")
        module = attribute(tensorflow, owner)
        if module is not None:
            bound_method(streams, module, name, factor)
    wrap_subclasses(tensorflow.Module, streams)


def wrap_subclasses(cls, streams):
    """Have the construction of the program's modules draw for `init`, their calls for `layers`."""
    plain = cls.__init_subclass__

    def __init_subclass__(cls, **kwargs):
        getattr(plain, "__func__", ignore_class(plain))(cls, **kwargs)
        if not cls.__module__.startswith(("keras.", "tf_keras.", "tensorflow.")):
            for name, factor in (("__init__", INIT), ("__call__", LAYERS)):
                own = vars(cls).get(name)
                if isinstance(own, types.FunctionType):
                    setattr(cls, name, boundary(streams, factor, own))

    cls.__init_subclass__ = classmethod(__init_subclass__)


def ignore_class(plain):
    """Return ``__init_subclass__`` of `object`, which is bound already, as a function of a class."""

    def function(cls, **kwargs):
        return plain(**kwargs)

    return function
