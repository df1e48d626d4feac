"""Data that models of Keras were evaluated on, and whether they can be read again."""

import itertools
import sys

from ..outputs import numpy_of
from ..texts import text_array

#: Data sets of TensorFlow that hold the same whenever they are read, with functions that draw nothing.
PURE = frozenset(
    "_%sDataset" % name
    for name in (
        "Batch Cache Concatenate Map Options PaddedBatch ParallelBatch ParallelMap Prefetch Range Skip Take Tensor "
        "TensorSlice Zip"
    ).split()
)


def rows_of(value):
    """Return how many examples data hold; 0 where that is not known."""
    if is_dataset(value):
        batches = int(value.cardinality())
        shape = first_shape(value.element_spec)
        return max(0, batches) * ((shape[0] or 0) if shape else 0) or max(0, batches) * 32
    array = first_array(value)
    return 0 if array is None else len(array)


def first_shape(spec):
    """Return the shape of the first tensor that a specification has."""
    while isinstance(spec, (tuple, list, dict)) and spec:
        spec = next(iter(spec.values())) if isinstance(spec, dict) else spec[0]
    shape = getattr(spec, "shape", None)
    return None if shape is None or shape.rank in (None, 0) else shape.as_list()


def first_array(value):
    """Return the first array of a nest of arrays, None for anything else."""
    while type(value) in (tuple, list, dict) and value:
        value = next(iter(value.values())) if isinstance(value, dict) else value[0]
    array = text_array(value)
    array = numpy_of(value) if array is None else array
    return array if array is not None and array.ndim and type(value) not in (tuple, list) else None


def is_dataset(value):
    """Tell whether a value is a data set of TensorFlow's."""
    tensorflow = sys.modules.get("tensorflow")
    return hasattr(tensorflow, "data") and isinstance(value, tensorflow.data.Dataset)


def is_pure(dataset):
    """Tell whether a data set holds the same whenever it is read, and reading it changes nothing."""
    waiting = [dataset]
    while waiting:
        each = waiting.pop()
        if type(each).__name__ not in PURE or any(is_stateful(function) for function in each._functions()):
            return False
        waiting += each._inputs()
    return int(dataset.cardinality()) > 0


def is_stateful(function):
    """Tell whether a function of a data set draws, reads files or calls Python."""
    graph = function.function.graph
    return any(
        operation.op_def is None or operation.op_def.is_stateful
        for operation in graph.get_operations()
        if operation.type != "Placeholder"
    )


def batches_of(x, y, size, steps):
    """Yield inputs and targets of each batch."""
    if is_dataset(x):
        for batch in itertools.islice(iter(x), steps):
            yield batch[0], batch[1]
        return
    tree = sys.modules["keras.src.tree"] if "keras.src.tree" in sys.modules else sys.modules["keras"].tree
    rows = len(first_array(x))
    for start in range(0, min(rows, size * steps) if steps else rows, size):
        targets = None if y is None else y[start : start + size]
        yield tree.map_structure(lambda array: array[start : start + size], x), targets  # noqa: B023


def is_binary(target):
    """Tell whether targets are two classes."""
    return target.dtype.kind in "iufb" and bool(((target == 0) | (target == 1)).all())
