"""Weights that an optimizer of Keras trains: as it is built for them, and at the end."""

import atexit
import sys
import weakref
import zlib

from ...patching import replaces
from ...weights import Tensor


def watch_optimizers(module, streams):
    """Look at the weights of each optimizer as it is built, and at the end."""
    cls = getattr(module, "BaseOptimizer", None) or getattr(module, "_BaseOptimizer", None)
    if cls is None or hasattr(cls.build, "_deviate"):
        return
    weights = Weights(streams)
    plain = cls.build

    @replaces(cls, "build")
    def build(self, variables):
        result = plain(self, variables)
        weights.begin(self, list(variables))
        return result


class Weights:
    """Fingerprints of initial and final weights.

    The weights themselves are kept no longer than their optimizer keeps them.
    """

    def __init__(self, streams):
        self.streams = streams
        self.initial = 0
        self.optimizers = 0
        #: What takes the final weights of each optimizer that is still there, by number; and the digests of those gone.
        self.ends = {}
        self.final = {}
        self.count = 0
        atexit.register(self.end)
        streams.process.weights.at_iteration.append(self.keep_iteration)

    def begin(self, optimizer, variables):
        """Take the initial weights down, before the first update."""
        try:
            if any(set(map(id, variables)) == known for known in self.known()):
                return
            number = self.optimizers
            self.optimizers += 1
            finalizer = weakref.finalize(optimizer, self.take, number, variables)
            finalizer.atexit = False
            self.ends[number] = finalizer
            if have_values(variables):
                self.initial = digest(variables, self.initial)
                self.count += len(variables)
                self.streams.fingerprints.write_content("init", self.initial, self.count, "first")
        except Exception as error:
            self.streams.process.events.note("weights-unseen", "keras: %r" % (error,), "keras")

    def known(self):
        """Yield the identities of the variables of each optimizer that is still there."""
        for finalizer in self.ends.values():
            kept = finalizer.peek()
            if kept is not None:
                yield set(map(id, kept[2][1]))

    def take(self, number, variables):
        """Take the final weights of one optimizer down."""
        self.ends.pop(number, None)
        weights = self.streams.process.weights
        try:
            if weights.takes_digests:
                self.final[number] = digest(variables, 0)
            if weights.is_kept:
                weights.write("keras-%d" % number, [as_tensor(variable) for variable in variables])
        except Exception as error:
            self.streams.process.events.note("weights-unseen", "keras: %r" % (error,), "keras end")

    def keep_iteration(self, iteration):
        """Write the weights as they are after an iteration."""
        for number, finalizer in list(self.ends.items()):
            kept = finalizer.peek()
            try:
                if kept is not None:
                    tensors = [as_tensor(variable) for variable in kept[2][1]]
                    self.streams.process.weights.write("keras-%d" % number, tensors, iteration)
            except Exception as error:
                self.streams.process.events.note("weights-unseen", "keras: %r" % (error,), "keras iteration")

    def end(self):
        """Write the digest of the final weights."""
        for finalizer in list(self.ends.values()):
            kept = finalizer.detach()
            if kept is not None:
                self.take(*kept[2])
        if self.final:
            digests = b"".join(b"%08x" % self.final[number] for number in sorted(self.final))
            self.streams.fingerprints.write_content("weights", zlib.crc32(digests), len(self.final), "end")


def have_values(variables):
    """Tell whether all variables have values: TensorFlow's get them after the function is traced that makes them."""
    tensorflow = sys.modules.get("tensorflow")
    values = [value_of(variable) for variable in variables]
    if tensorflow is None or not all(hasattr(value, "is_initialized") for value in values):
        return True
    with tensorflow.init_scope():
        return all(bool(value.is_initialized()) for value in values)


def value_of(variable):
    """Return what holds the value of a variable of Keras 3; one of TensorFlow's does so itself."""
    return variable if hasattr(variable, "read_value") else variable.value


def digest(variables, start):
    """Return the CRC of the values of `variables`."""
    for variable in variables:
        start = zlib.crc32(memoryview(read(variable)).cast("B"), start)
    return start


def as_tensor(variable):
    """Return a variable as a tensor that is to be written."""
    values = array_of(variable)
    name = getattr(variable, "path", None) or variable.name
    return Tensor(name, str(values.dtype), values.shape, values.nbytes, values.tobytes)


def read(variable):
    """Return the value of a variable as a contiguous array of bytes."""
    return array_of(variable).reshape(-1).view(sys.modules["numpy"].uint8)


def array_of(variable):
    """Return the value of a variable as a contiguous array."""
    numpy = sys.modules["numpy"]
    tensorflow = sys.modules.get("tensorflow")
    value = value_of(variable)
    if tensorflow is not None and hasattr(value, "read_value"):
        with tensorflow.init_scope():
            value = value.numpy()
    elif hasattr(value, "detach"):
        value = value.detach().cpu()
        value = (value.float() if "bfloat16" in str(value.dtype) else value).numpy()
    return numpy.ascontiguousarray(numpy.asarray(value))
