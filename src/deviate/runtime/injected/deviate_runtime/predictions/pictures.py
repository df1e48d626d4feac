"""Inputs that are pictures, small enough to be kept."""

from .outputs import is_on_device, numpy_of

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
