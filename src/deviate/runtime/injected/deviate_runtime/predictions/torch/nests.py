"""Tensors in nests of containers."""

import sys

from ..outputs import is_tensor

#: Names of targets, as entries of a batch and as arguments of a model.
TARGETS = ("labels", "targets", "target", "label", "y")


def has_entries(value):
    """Tell whether a value is read like a dictionary: named tuples of some libraries have these methods alone."""
    return callable(getattr(value, "keys", None)) and callable(getattr(value, "items", None))


def tensors_in(value, depth=0):
    """Yield the plain tensors in a nest of containers."""
    if is_tensor(sys.modules["torch"], value):
        yield value
    elif depth < 3 and has_entries(value):
        for _, inner in value.items():
            yield from tensors_in(inner, depth + 1)
    elif depth < 3 and isinstance(value, (list, tuple)):
        for inner in value:
            yield from tensors_in(inner, depth + 1)
