"""The inputs that a model is least certain of, where they can be shown: runs disagree on few others."""

import sys

from .features import joined_rows
from .outputs import is_floating

#: Inputs of a pass that are kept at most, and their bytes.
MOST = 100
BYTES = 400000


class Uncertain:
    """The inputs of a pass that the model is least certain of: arrays or tensors, where they are, until it is over.

    Attributes
    ----------
    parts : list
        Certainties, inputs and numbers of examples, counted over all batches.
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
        inputs, batch.inputs = batch.inputs, None
        name = "index" if batch.index is not None else "digest"
        top = None if batch.outputs is None else batch.outputs.columns.get("top")
        is_other = bool(self.parts) and (self.name != name or self.parts[0][1].shape[1:] != inputs.shape[1:])
        if self.is_over or is_other or getattr(batch, name) is None or not are_together(top, inputs):
            self.is_over = True
            self.parts, self.known = [], []
            return
        self.name, self.most = name, max(1, min(MOST, BYTES // bytes_of_row(inputs)))
        # Of logits the logarithm of the highest probability; of probabilities it has nearly their order.
        certainty = top - batch.outputs.columns["log_sum"]
        places = smallest(certainty, self.most) if self.limit is None else (certainty < self.limit).nonzero()[0]
        if len(places):
            self.parts.append((certainty[places], inputs[places], places + self.count))
        self.known.append(getattr(batch, name))
        self.count += batch.size
        self.waiting += len(places)
        is_first = self.limit is None and type(certainty) is sys.modules["numpy"].ndarray
        if self.waiting >= (self.most if is_first else 2 * self.most):
            self.trim()

    def trim(self):
        """Keep the least certain."""
        certainty, inputs, numbers = (joined_rows(sys.modules["numpy"], each) for each in zip(*self.parts))  # noqa: B905
        places = smallest(certainty, self.most)
        self.parts = [(certainty[places], inputs[places], numbers[places])]
        self.waiting = len(places)
        if self.waiting == self.most and type(certainty) is sys.modules["numpy"].ndarray:
            self.limit = self.parts[0][0].max()

    def columns(self, numpy, columns):
        """Return the columns ``pictures`` or ``texts``, and ``picture_rows`` or ``text_rows``, their examples."""
        if not self.parts or self.name not in columns:
            return {}
        self.trim()
        _, inputs, numbers = (on_host(column) for column in self.parts[0])
        wanted = numpy.concatenate(self.known)[numbers]
        known, first = numpy.unique(columns[self.name], return_index=True)
        found = numpy.flatnonzero(numpy.isin(wanted, known))
        rows, places = numpy.unique(first[numpy.searchsorted(known, wanted[found])], return_index=True)
        if not len(rows):
            return {}
        kind = "text" if is_text(inputs) else "picture"
        return {kind + "s": inputs[found[places]], kind + "_rows": rows}


def smallest(values, most):
    """Return the places of the smallest values, in any order."""
    if type(values) is not sys.modules["numpy"].ndarray:
        return values.topk(min(most, len(values)), largest=False).indices
    return values.argpartition(most - 1)[:most] if len(values) > most else sys.modules["numpy"].arange(len(values))


def bytes_of_row(inputs):
    """Return the bytes that an input is kept in: of a picture one for each value."""
    return inputs.itemsize if is_text(inputs) else inputs.shape[1] * inputs.shape[2] * inputs.shape[3]


def is_text(inputs):
    """Tell whether inputs are texts, not pictures."""
    return inputs.ndim == 1


def are_together(top, inputs):
    """Tell whether two columns are arrays, or tensors on one device."""
    return type(top) is type(inputs) and getattr(top, "device", None) == getattr(inputs, "device", None)


def on_host(values):
    """Return an array or a tensor as an array."""
    if type(values) is sys.modules["numpy"].ndarray:
        return values
    return (values.float() if is_floating(values) else values).cpu().numpy()
