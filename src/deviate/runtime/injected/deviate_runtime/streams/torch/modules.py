"""Modules of PyTorch: what makes their parameters draws for ``init``, a model's forward for ``layers``.

What models are called on: the first input of the training, and the examples that come back in pass after pass.

A program that cuts its batches itself shows its data nowhere else. What a model gets that comes back is the data; noise
and new states of an environment do not, so a set that still grows when half of the calls are over is none.
"""

import copy
import functools
import sys
import types
import weakref
import zlib

from ...factors import AUGMENT, INIT, LAYERS, OTHER
from ..examples import SIZE, arrays_in, row_hashes

RUNTIME = __name__.partition(".")[0]

#: Methods that give parameters their values, called by a constructor or by the program.
INITIALISING = (
    "__init__", "reset_parameters", "_reset_parameters", "init_weights", "_init_weights", "initialize_weights",
    "_initialize_weights", "init_parameters", "weight_init",
)  # fmt: skip

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


#: Calls in which examples are looked for, in training and in evaluation; more where none has come back yet.
CALLS = 1024
MOST_CALLS = 4096

#: Once most rows came back, after this many calls at the earliest, only every n-th call is looked at: each look costs
#: some 25 microseconds.
THIN_AFTER, EVERY = 64, 8

#: Models that are known for their names of weights.
MODELS = 64

#: Bytes of the first input that are read.
MAX_BYTES = 4 << 20

#: How the names of parts begin whose rows have several shapes: batches that are padded to their longest row.
PADDED = "padded, "

#: Share of the rows in the sketch that must be there in the first half of the calls, and come back.
RETURNED = 0.9


class Inputs:
    """The inputs of the outermost calls of models in one process.

    Attributes
    ----------
    wanted : bool
        False once enough was seen: calls need not be handed on any more.
    """

    def __init__(self, streams, examples, mode, is_traced):
        self.streams = streams
        self.examples = examples
        self.mode = mode
        self.is_traced = is_traced
        streams.fingerprints.content_sources.append(self)
        self.forget()

    def forget(self):
        """Begin anew."""
        self.wanted = True
        self.has_first = False
        self.calls = 0
        self.passes = {}

    def take(self, module, args, kwargs):
        """Look at the arguments of a call; whatever goes wrong, the next calls are left alone."""
        try:
            if not self.is_traced():
                self.look(module, args, kwargs)
        except Exception as error:
            self.wanted = False
            self.streams.process.events.note("examples-unread", repr(error), "input")

    def look(self, module, args, kwargs):
        """Take the first input of the training down, and the rows of this one."""
        self.calls += 1
        mode = self.mode(module)
        if mode is not None and len(self.streams.models) < MODELS:
            self.streams.models.setdefault(id(module), weakref.ref(module))
        if mode is not None:
            rows = self.rows_of(type(module).__name__, mode)
            is_first = mode == "training" and not self.has_first
            if rows.is_due() or is_first:
                self.take_arrays(list(arrays_in((args, kwargs))), rows, is_first)
        if self.has_first and self.examples.parts:
            # A loader has shown its data set.
            self.wanted = False
        elif self.calls >= MOST_CALLS or (self.has_first and all(each.is_complete for each in self.passes.values())):
            self.wanted = False
            self.finish()

    def take_arrays(self, arrays, rows, is_first):
        """Take the arrays of one call."""
        if is_first and arrays:
            self.has_first = True
            self.write_first(arrays)
        if arrays and arrays[0].ndim and not self.examples.parts:
            rows.take(row_hashes(arrays[0]), arrays[0].shape[1:])

    def rows_of(self, model, mode):
        """Return the rows that models of a class were called on, in training or in evaluation."""
        if (model, mode) not in self.passes:
            if not self.passes:
                self.streams.fingerprints.at_end.append(self.finish)
            self.passes[model, mode] = Pass()
        return self.passes[model, mode]

    def write_first(self, arrays):
        """Write the digest of the first input."""
        digest = 0
        for array in arrays:
            digest = zlib.crc32(repr((array.shape, str(array.dtype))).encode(), digest)
            digest = zlib.crc32(array.tobytes()[:MAX_BYTES], digest)
        if arrays:
            self.streams.fingerprints.write_content("input", digest, len(arrays), "first")

    def finish(self):
        """Write the examples that came back, unless a loader has shown its data set.

        What a model is evaluated on counts where it was trained on examples as well: a generator may be shown the same
        noise again and again.
        """
        fixed = {} if self.examples.parts else {name: seen for name, seen in self.passes.items() if seen.is_fixed()}
        for (model, mode), seen in sorted(fixed.items()):
            if (model, "training") in fixed:
                name = "%s%s, %s" % (PADDED if len(seen.shapes) > 1 else "", mode, model)
                self.examples.add(name, sorted(seen.rows))
        self.passes = {}


class Pass:
    """A sketch of the rows of a series of calls: the call in which each row was first seen, and how often it was."""

    def __init__(self):
        self.rows = {}
        self.shapes = set()
        self.bound = 1 << 64
        self.calls = 0
        self.is_thin = False

    @property
    def is_complete(self):
        """Whether further calls would tell nothing."""
        return self.calls >= MOST_CALLS or (self.calls >= CALLS and any(hits > 1 for _, hits in self.rows.values()))

    def is_due(self):
        """Count a call; tell whether its rows are to be taken."""
        self.calls += 1
        if self.calls >= THIN_AFTER and not self.calls & (self.calls - 1):
            self.is_thin = self.is_thin or self.share_returned(self.calls) >= RETURNED
        return not (self.is_complete or (self.is_thin and self.calls % EVERY))

    def take(self, hashes, shape):
        """Take the rows of one call, each of one shape; None where they cannot be read."""
        if hashes is None:
            return
        if len(self.shapes) < 2:
            self.shapes.add(tuple(shape))
        if self.bound < 1 << 64:
            hashes = hashes[hashes <= hashes.dtype.type(self.bound)]
        for row in set(hashes.tolist()):
            first, hits = self.rows.get(row, (self.calls, 0))
            self.rows[row] = first, hits + 1
        if len(self.rows) > SIZE:
            for row in sorted(self.rows)[SIZE:]:
                del self.rows[row]
            self.bound = max(self.rows)

    def is_fixed(self):
        """Tell whether the same rows come again and again, and hardly any new ones."""
        return self.share_returned((self.calls + 1) // 2) >= RETURNED

    def share_returned(self, latest):
        """Return the share of the rows that were first seen in the `latest` calls or before, and came back."""
        returned = sum(hits > 1 and first <= latest for first, hits in self.rows.values())
        return returned / len(self.rows) if self.rows else 0.0
