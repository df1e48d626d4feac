"""What a model returns (labels, scores, values), what it was to predict, and inputs that are small pictures."""

import sys

from ..streams.examples import array_of_tensor
from ..streams.torch.random import is_recorded

#: Classes up to which the scores of all are kept where they are asked for.
MAX_CLASSES = 1000

#: A row of outputs adds up to one, where they are probabilities, to this.
TOLERANCE = 1e-3

#: Devices of torch's on which tensors are reduced; others compile what they compute, or have no memory.
DEVICES = ("cuda", "xpu", "npu", "hpu", "privateuseone")

#: Columns of an output that says what kind of scores its rows are.
SUMMARY = ("top", "sum", "log_sum", "least")


def numpy_of(value):
    """Return an array of the memory of a concrete array or tensor on the CPU; None for anything else."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if type(value) is numpy.ndarray:
        return named(numpy, value)
    torch = sys.modules.get("torch")
    if is_tensor(torch, value):
        array = array_of_tensor(numpy, value)
        return widened(numpy, array) if str(value.dtype) == "torch.bfloat16" and array is not None else array
    if type(value).__name__ in ("ArrayImpl", "EagerTensor"):
        return numpy.asarray(value)
    if type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "to_numpy"):
        return named(numpy, value.to_numpy())
    if type(value) in (list, tuple) and value and isinstance(value[0], (int, float, numpy.generic, str)):
        return numpy.asarray(value)
    return None


def named(numpy, array):
    """Return an array, with names in a type of their own where it holds objects; None where these are no names."""
    if array.dtype.kind in "USO" and array.size and all(type(item) is str for item in array.flat):
        return array.astype(str)
    return None if array.dtype.kind == "O" else array


def is_tensor(torch, value):
    """Tell whether a value is a plain tensor of torch's: no tracer, no subclass with a meaning of its own."""
    if torch is None or type(value) is not getattr(torch, "Tensor", None):
        return False
    functorch = getattr(torch._C, "_functorch", None)
    return functorch is None or not functorch.is_functorch_wrapped_tensor(value)


def is_on_device(value):
    """Tell whether a value is a plain tensor of torch's in the memory of a device that computes at once."""
    return is_tensor(sys.modules.get("torch"), value) and value.device.type in DEVICES


def widened(numpy, words):
    """Return numbers of 16 bits, the upper half of those of 32 (bfloat16), as such."""
    return (words.astype(numpy.uint32) << numpy.uint32(16)).view(numpy.float32)


def is_scores(value):
    """Tell whether an output is a score for each of several classes, one row an example."""
    shape = getattr(value, "shape", ())
    return len(shape) == 2 and shape[0] > 0 and shape[1] > 1 and is_floating(value)


def is_values(value):
    """Tell whether an output is one number an example."""
    shape = getattr(value, "shape", ())
    return bool(shape) and shape[0] > 0 and all(size == 1 for size in shape[1:]) and is_floating(value)


def is_floating(value):
    """Tell whether an array holds floating-point numbers."""
    return "float" in str(getattr(value, "dtype", ""))


class Outputs:
    """What a model returned for a batch, reduced to columns of one entry an example.

    Attributes
    ----------
    columns : dict
        ``label``, and `SUMMARY` for scores of classes; ``value`` for one number an example. ``scores`` where they are
        kept. Of a tensor on a device, tensors there: they are read when the pass is over, so that nothing waits.
    width : int
        Scores of an example, 1 for a value.
    """

    __slots__ = ("columns", "size", "width")

    def __init__(self, size, columns, width=1):
        self.size = size
        self.columns = columns
        self.width = width


def read_outputs(value, keep_scores):
    """Return the outputs of a batch; None where they are neither scores of classes nor one number an example."""
    if is_on_device(value):
        return read_device(value.detach(), keep_scores)
    array = numpy_of(value) if is_floating(value) else None
    if array is None:
        return None
    numpy = sys.modules["numpy"]
    if is_scores(array):
        top = array.max(axis=1)
        with numpy.errstate(all="ignore"):
            wide = array.astype(numpy.float32, copy=False)
            log_sum = numpy.log(numpy.exp(wide - top[:, None]).sum(axis=1)) + top
        columns = {
            "label": array.argmax(axis=1),
            "top": top.astype(numpy.float32),
            "sum": wide.sum(axis=1),
            "log_sum": log_sum.astype(numpy.float32),
            "least": array.min(axis=1).astype(numpy.float32),
        }
        if keep_scores and array.shape[1] <= MAX_CLASSES:
            columns["scores"] = array.astype(numpy.float32)
        return Outputs(len(array), columns, array.shape[1])
    if is_values(array):
        return Outputs(len(array), {"value": array.reshape(-1).astype(numpy.float64)})
    return None


def read_device(tensor, keep_scores):
    """Return the outputs of a batch on a device, reduced there; None where the program records what the device does."""
    if is_recorded(sys.modules["torch"]):
        return None
    if is_scores(tensor):
        wide = tensor.float()
        columns = {
            "label": tensor.argmax(1),
            "top": wide.amax(1),
            "sum": wide.sum(1),
            "log_sum": wide.logsumexp(1),
            "least": wide.amin(1),
        }
        if keep_scores and tensor.shape[1] <= MAX_CLASSES:
            columns["scores"] = wide
        return Outputs(len(tensor), columns, tensor.shape[1])
    if is_values(tensor):
        return Outputs(len(tensor), {"value": tensor.reshape(-1).double()})
    return None


def probabilities(numpy, columns):
    """Return the probability of each label, from outputs that are probabilities, their logarithms or logits."""
    top, total, log_sum, least = (columns[name] for name in SUMMARY)
    if (least >= -TOLERANCE).all() and numpy.abs(total - 1).max() <= TOLERANCE:
        return top
    with numpy.errstate(over="ignore"):
        return numpy.exp(top - log_sum)


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


#: Pixels of an edge at most: of larger pictures every second pixel is kept, and so on.
EDGE = 64

#: Channels of a picture: grey, colors, colors with transparency.
CHANNELS = (1, 3, 4)


def pictures_of(value, size, axis):
    """Return the pictures in an array or a tensor, small and with channels last; None for anything else.

    They have shape ``(size, height, width, channels)`` and are a view of the value, whose channels are looked for on
    `axis` first: 1 as PyTorch has them, or 3.
    """
    shape = tuple(getattr(value, "shape", ()))
    if len(shape) != 4 or shape[0] != size or 0 in shape:
        return None
    axis = next((each for each in (axis, 4 - axis) if shape[each] in CHANNELS), None)
    value = value.detach() if is_on_device(value) else numpy_of(value)
    if value is None or axis is None:
        return None
    if axis == 1:
        value = value.swapaxes(1, 2).swapaxes(2, 3)
    step = -(-max(value.shape[1:3]) // EDGE)
    return value[:, ::step, ::step]


def bytes_of_pictures(numpy, pictures):
    """Return pictures with values of 8 bits."""
    return numpy.stack([stretched(numpy, each) for each in pictures])


def stretched(numpy, values):
    """Return a picture with values of 8 bits.

    Values in 0 to 1 and in 0 to 255 are taken for what they are; others are stretched from the least to the greatest.
    """
    if values.dtype == numpy.uint8:
        return values
    values = numpy.nan_to_num(values.astype(numpy.float64))
    low, high = float(values.min()), float(values.max())
    if low < 0 or high > 255:
        values = (values - low) / ((high - low) or 1.0)
    elif high > 1:
        values = values / 255
    return numpy.rint(255 * values).astype(numpy.uint8)
