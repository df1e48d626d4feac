"""What enters the last linear layer of a model in evaluation: how it represents some of the examples."""

import sys

from ..streams.examples import mixed
from .outputs import is_floating

#: Examples of a pass that are kept: those whose identities have the smallest digests, the same ones in every run.
MOST = 1000


class LastInput:
    """What entered the linear layer that was called last, until the outermost call is over."""

    __slots__ = ("input",)

    def __init__(self):
        self.input = None

    def see(self, module, args):
        """Take down what a linear layer of PyTorch is called on in evaluation."""
        if not module.training:
            self.see_input(args)

    def see_input(self, args):
        """Take down what a linear layer is called on."""
        if len(args) == 1:
            self.input = args[0]

    def take(self):
        """Return it and let it go."""
        value, self.input = self.input, None
        return value


def features_of(value, size):
    """Return an array or a tensor that has a row of features for each of `size` examples; None for anything else."""
    shape = getattr(value, "shape", ())
    return value if len(shape) == 2 and shape[0] == size and is_floating(value) else None


class Features:
    """The representations of some examples of a pass: arrays or tensors, where they are, until the pass is over."""

    def __init__(self):
        self.name = None
        self.keys = []
        self.parts = []
        self.limit = None
        self.is_over = False

    def add(self, batch):
        """Take those of a batch."""
        numpy = sys.modules["numpy"]
        values, batch.features = batch.features, None
        name = "index" if batch.index is not None else "digest"
        rows = batch.feature_rows
        if self.is_over or getattr(batch, name) is None or self.name not in (None, name):
            self.stop()
            return
        self.name = name
        keys = keys_of(numpy, name, getattr(batch, name) if rows is None else getattr(batch, name)[rows])
        places = numpy.arange(len(keys)) if self.limit is None else numpy.flatnonzero(keys < self.limit)
        if len(places):
            self.keys.append(keys[places])
            self.parts.append(rows_at(numpy, values, places))
        if sum(map(len, self.keys)) > 2 * MOST:
            self.trim(numpy)

    def stop(self):
        """Take no more: not all examples are known, or several layers took turns."""
        self.is_over = True
        self.keys, self.parts = [], []

    def trim(self, numpy):
        """Keep the examples with the smallest keys; of several calls on one, the last."""
        if len({part.shape[1] for part in self.parts}) != 1:
            self.stop()
            return
        joined = numpy.concatenate(self.keys)
        keys, last = numpy.unique(joined[::-1], return_index=True)
        places = (len(joined) - 1 - last)[:MOST]
        self.keys = [keys[:MOST]]
        self.parts = [rows_at(numpy, joined_rows(numpy, self.parts), places)]
        self.limit = keys[MOST] if len(keys) > MOST else self.limit

    def columns(self, numpy, columns):
        """Return the columns ``features`` and ``feature_rows``, the examples that these are of."""
        if not self.keys or self.name not in columns:
            return {}
        self.trim(numpy)
        if self.is_over:
            return {}
        known, first = numpy.unique(keys_of(numpy, self.name, columns[self.name]), return_index=True)
        found = numpy.isin(self.keys[0], known)
        rows = first[numpy.searchsorted(known, self.keys[0][found])]
        values = single_precision(numpy, self.parts[0])[found]
        return {"features": values, "feature_rows": rows} if len(rows) else {}


def rows_kept(numpy, digests):
    """Return the rows of a whole pass whose features are kept, by the digests of its examples."""
    return numpy.argsort(digests, kind="stable")[:MOST]


def keys_of(numpy, name, column):
    """Return a number for each example that spreads over all of a data set."""
    return mixed(numpy, column.astype(numpy.uint64)) if name == "index" else column


def rows_at(numpy, values, places):
    """Return rows of an array, or of a tensor where it is."""
    if type(values) is numpy.ndarray:
        return values[places]
    return values.detach()[sys.modules["torch"].from_numpy(places).to(values.device)]


def joined_rows(numpy, parts):
    """Return arrays or tensors one below the other."""
    return numpy.concatenate(parts) if type(parts[0]) is numpy.ndarray else sys.modules["torch"].cat(parts)


def single_precision(numpy, values):
    """Return an array or a tensor as an array of 32-bit numbers."""
    return values.astype(numpy.float32) if type(values) is numpy.ndarray else values.float().cpu().numpy()
