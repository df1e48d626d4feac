"""The inputs that a model is least certain of, where they are pictures: runs disagree on few others."""

import sys

from .features import joined_rows
from .outputs import is_floating, is_on_device, numpy_of

#: Pictures of a pass that are kept at most, and their bytes.
MOST = 100
BYTES = 400000

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


class Pictures:
    """The inputs of a pass that the model is least certain of: arrays or tensors, where they are, until it is over.

    Attributes
    ----------
    parts : list
        Certainties, pictures and numbers of examples, counted over all batches.
    known : list
        What each batch's examples are known by, their indices or their digests.
    limit : float, optional
        Certainty from which on an example is not kept; None where that is not known, as on devices: to know it there
        the program would have to wait.
    """

    def __init__(self):
        self.parts, self.known = [], []
        self.count = self.waiting = self.most = 0
        self.name = self.limit = None
        self.is_over = False

    def add(self, batch):
        """Take those of a batch."""
        pictures, batch.pictures = batch.pictures, None
        name = "index" if batch.index is not None else "digest"
        top = None if batch.outputs is None else batch.outputs.columns.get("top")
        is_other = bool(self.parts) and (self.name != name or self.parts[0][1].shape[1:] != pictures.shape[1:])
        if self.is_over or is_other or getattr(batch, name) is None or not are_together(top, pictures):
            self.is_over = True
            self.parts, self.known = [], []
            return
        _, height, width, channels = pictures.shape
        self.name, self.most = name, max(1, min(MOST, BYTES // (height * width * channels)))
        # Of logits the logarithm of the highest probability; of probabilities it has nearly their order.
        certainty = top - batch.outputs.columns["log_sum"]
        places = smallest(certainty, self.most) if self.limit is None else (certainty < self.limit).nonzero()[0]
        if len(places):
            self.parts.append((certainty[places], pictures[places], places + self.count))
        self.known.append(getattr(batch, name))
        self.count += batch.size
        self.waiting += len(places)
        is_first = self.limit is None and type(certainty) is sys.modules["numpy"].ndarray
        if self.waiting >= (self.most if is_first else 2 * self.most):
            self.trim()

    def trim(self):
        """Keep the least certain."""
        certainty, pictures, numbers = (joined_rows(sys.modules["numpy"], each) for each in zip(*self.parts))  # noqa: B905
        places = smallest(certainty, self.most)
        self.parts = [(certainty[places], pictures[places], numbers[places])]
        self.waiting = len(places)
        if self.waiting == self.most and type(certainty) is sys.modules["numpy"].ndarray:
            self.limit = self.parts[0][0].max()

    def columns(self, numpy, columns):
        """Return the columns ``pictures`` and ``picture_rows``, the examples that these are of."""
        if not self.parts or self.name not in columns:
            return {}
        self.trim()
        _, pictures, numbers = (on_host(column) for column in self.parts[0])
        wanted = numpy.concatenate(self.known)[numbers]
        known, first = numpy.unique(columns[self.name], return_index=True)
        found = numpy.flatnonzero(numpy.isin(wanted, known))
        rows, places = numpy.unique(first[numpy.searchsorted(known, wanted[found])], return_index=True)
        if not len(rows):
            return {}
        return {"pictures": pictures[found[places]], "picture_rows": rows}


def smallest(values, most):
    """Return the places of the smallest values, in any order."""
    if type(values) is not sys.modules["numpy"].ndarray:
        return values.topk(min(most, len(values)), largest=False).indices
    return values.argpartition(most - 1)[:most] if len(values) > most else sys.modules["numpy"].arange(len(values))


def are_together(top, pictures):
    """Tell whether two columns are arrays, or tensors on one device."""
    return type(top) is type(pictures) and getattr(top, "device", None) == getattr(pictures, "device", None)


def on_host(values):
    """Return an array or a tensor as an array."""
    if type(values) is sys.modules["numpy"].ndarray:
        return values
    return (values.float() if is_floating(values) else values).cpu().numpy()


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
