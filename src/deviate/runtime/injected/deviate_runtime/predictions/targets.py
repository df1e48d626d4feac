"""What was to be predicted, in the forms in which programs hold it."""

import sys

from .outputs import is_floating, is_on_device, numpy_of


def read_targets(value, size):
    """Return one target an example: a copy, or the tensor where it lies on a device; None where `value` is none."""
    shape = tuple(getattr(value, "shape", ()))
    if not shape and type(value) in (list, tuple):
        array = numpy_of(value)
        return array if array is not None and array.shape == (size,) else None
    if not shape or shape[0] != size:
        return None
    if all(length == 1 for length in shape[1:]):
        return flat(value)
    if len(shape) == 2 and is_floating(value):
        return one_hot(value)
    return None


def flat(value):
    """Return the elements of an array or tensor, no part of the program's memory."""
    if is_on_device(value):
        return value.detach().reshape(-1).clone()
    array = numpy_of(value)
    return None if array is None else array.reshape(-1).copy()


def one_hot(value):
    """Return the class of each row that is 1 in one column and 0 elsewhere; None where rows are no such thing."""
    array = None if is_on_device(value) else numpy_of(value)
    if array is None or array.shape[1] < 2:
        return None
    numpy = sys.modules["numpy"]
    is_hot = array == 1
    if not ((is_hot | (array == 0)).all() and (is_hot.sum(axis=1) == 1).all()):
        return None
    return numpy.argmax(array, axis=1)
