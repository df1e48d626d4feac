"""Modules of PyTorch: what makes their parameters draws for ``init``, a model's forward for ``layers``."""

import copy
import functools
import sys
import types

from ...factors import AUGMENT, INIT, LAYERS, OTHER
from ..inputs import Inputs

RUNTIME = __name__.partition(".")[0]

#: Methods that give parameters their values, called by a constructor or by the program.
INITIALISING = (
    "__init__",
    "reset_parameters",
    "_reset_parameters",
    "init_weights",
    "_init_weights",
    "initialize_weights",
    "_initialize_weights",
    "init_parameters",
    "weight_init",
)

#: Modules that transform data, wherever they are called.
TRANSFORMS = ("torchvision.transforms", "kornia.augmentation", "torchaudio.transforms", "torch_audiomentations")

#: Modules of torch that draw nothing when they are called, but for `DRAWING`: their callers need no switch.
PURE = frozenset(
    "torch.nn.modules." + name
    for name in (
        "activation adaptive batchnorm channelshuffle conv distance flatten fold instancenorm linear loss "
        "normalization padding pixelshuffle pooling sparse upsampling"
    ).split()
)
DRAWING = ("RReLU", "MultiheadAttention", "FractionalMaxPool2d", "FractionalMaxPool3d")


def patch_modules(torch, streams):
    """Have initialisers, constructors of modules and forwards draw for their factors."""
    Module = torch.nn.Module
    if hasattr(Module.__call__, "_deviate"):
        return
    wrap_initialisers(torch, streams)
    wrap_subclasses(Module, streams)
    wrap_call(Module, streams, inputs_of(torch, streams))


# Initialisation


def wrap_initialisers(torch, streams):
    """Wrap the functions of ``torch.nn.init``, also where torch has imported them by name."""
    wrapped = {}
    for name, function in list(vars(torch.nn.init).items()):
        if name.endswith("_") and isinstance(function, types.FunctionType) and not name.startswith("_"):
            wrapped[function] = streams.within(INIT, function)
    for name, module in list(sys.modules.items()):
        if name.startswith("torch.nn.") and module is not None:
            for key, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType) and value in wrapped:
                    setattr(module, key, wrapped[value])


def wrap_subclasses(Module, streams):
    """Have each class that is derived from now on initialise for ``init``; those of torch call its initialisers."""
    own = vars(Module).get("__init_subclass__")

    def __init_subclass__(cls, **kwargs):
        if own is None:
            super(Module, cls).__init_subclass__(**kwargs)
        else:
            own.__func__(cls, **kwargs)
        if cls.__module__.startswith(TRANSFORMS):
            return
        for name in INITIALISING:
            function = cls.__dict__.get(name)
            if type(function) is types.FunctionType:
                setattr(cls, name, Initialising(streams, function))

    Module.__init_subclass__ = classmethod(__init_subclass__)


class Initialising:
    """A method that draws for ``init``.

    No function stands around it where ``init`` draws already, in a constructor called by a constructor: libraries read
    the arguments of constructors off the frames of those that called them. The class answers with the plain function.
    """

    def __init__(self, streams, function):
        self.streams = streams
        self.function = function

    def __get__(self, instance, owner=None):
        if instance is None or self.streams.current == INIT:
            return self.function.__get__(instance, owner)
        return types.MethodType(self, instance)

    def __call__(self, *args, **kwargs):
        streams = self.streams
        before = streams.enter(INIT)
        try:
            return self.function(*args, **kwargs)
        finally:
            streams.leave(before)

    def __getattr__(self, name):
        return getattr(object.__getattribute__(self, "function"), name)

    def __reduce__(self):
        # Copied with its class to another process, it is what it stands for.
        return copy.copy, (self.function,)


# Forward


def wrap_call(Module, streams, inputs):
    """Have the outermost call of a module draw for ``layers``, and those of transforms for ``augment``."""
    plain = Module.__call__
    models = streams.process.after_modules(sys.modules["torch"])
    if getattr(plain, "__name__", "") == "_wrapped_call_impl":
        __call__ = instead_of(plain, streams, inputs, models, *last_layer(streams.process))
    else:
        __call__ = around(plain, streams, inputs, models)
    __call__._deviate = True
    Module.__call__ = __call__
    if vars(Module).get(__call__.__name__) is plain:
        # The name that it is pickled by.
        setattr(Module, __call__.__name__, __call__)
    for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
        # What the compiler, where it was loaded before, takes for a call that was not replaced.
        compiler = sys.modules.get(name)
        if getattr(compiler, "unpatched_nn_module_call", None) is plain:
            compiler.unpatched_nn_module_call = __call__


def last_layer(process):
    """Return the class of linear layers, and what is called with what enters one; None where nothing is to know."""
    last = getattr(process.predictions, "last_input", None)
    return (None, None) if last is None else (sys.modules["torch"].nn.Linear, last.see)


def instead_of(plain, streams, inputs, models, linear, see):
    """Return what `plain` is in torch 2 and `around` otherwise, without a further call of Python's for each module."""
    enter, leave, own_factor = streams.enter, streams.leave, Factors().__getitem__

    @functools.wraps(plain)
    def __call__(self, *args, **kwargs):
        factor = own_factor(type(self))
        current = streams.current
        if factor is None or factor == current or (factor == LAYERS and current == AUGMENT):
            if current == OTHER:
                if inputs.wanted:
                    inputs.take(self, args, kwargs)
                returned = plain(self, *args, **kwargs)
                models(self, args, kwargs, returned)
                return returned
            if type(self) is linear:
                see(self, args)
            if self._compiled_call_impl is not None:
                return self._compiled_call_impl(*args, **kwargs)
            return self._call_impl(*args, **kwargs)
        if inputs.wanted and factor == LAYERS:
            inputs.take(self, args, kwargs)
        before = enter(factor)
        try:
            returned = plain(self, *args, **kwargs)
        finally:
            leave(before)
        if factor == LAYERS:
            models(self, args, kwargs, returned)
        return returned

    return __call__


def around(plain, streams, inputs, models):
    """Return `plain` with the outermost call drawing for its factor."""
    enter, leave, own_factor = streams.enter, streams.leave, Factors().__getitem__

    @functools.wraps(plain)
    def __call__(self, *args, **kwargs):
        factor = own_factor(type(self))
        current = streams.current
        if factor is None or factor == current or (factor == LAYERS and current == AUGMENT):
            if current != OTHER:
                return plain(self, *args, **kwargs)
            if inputs.wanted:
                inputs.take(self, args, kwargs)
            returned = plain(self, *args, **kwargs)
            models(self, args, kwargs, returned)
            return returned
        if inputs.wanted and factor == LAYERS:
            inputs.take(self, args, kwargs)
        before = enter(factor)
        try:
            returned = plain(self, *args, **kwargs)
        finally:
            leave(before)
        if factor == LAYERS:
            models(self, args, kwargs, returned)
        return returned

    return __call__


def inputs_of(torch, streams):
    """Return what looks at the inputs of models."""
    tracing = getattr(torch._C, "_get_tracing_state", lambda: None)

    def mode(module):
        if next(torch.nn.Module.parameters(module), None) is None:
            return None  # a loss, or an activation
        return "training" if torch.is_grad_enabled() and module.training else "evaluation"

    return Inputs(streams, streams.examples, mode, lambda: tracing() is not None)


class Factors(dict):
    """The factor of each class of modules that was called."""

    def __missing__(self, cls):
        self[cls] = factor_of(cls)
        return self[cls]


def factor_of(cls):
    """Return the factor that a call of a module draws for, None where it draws nothing."""
    if cls.__module__.startswith(TRANSFORMS):
        return AUGMENT
    if cls.__module__ in PURE and cls.__name__ not in DRAWING:
        return None
    return LAYERS


def skip_runtime(rules, streams):
    """Have ``torch.compile`` pass over the files of this package, as over torch's own, and compile what they call."""
    rules.add(RUNTIME)
