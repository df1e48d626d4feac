"""What enters the last linear layer of a model of PyTorch in evaluation: how it represents some of the examples."""

import sys

from ..streams.examples import mixed

#: Examples of a pass that are kept: those whose identities have the smallest digests, the same ones in every run.
MOST = 1000


class LastInput:
    """What entered the linear layer that was called last, until the outermost call is over."""

    __slots__ = ("input",)

    def __init__(self):
        self.input = None

    def see(self, module, args):
        """Take down what a linear layer is called on in evaluation."""
        if not module.training and len(args) == 1:
            self.input = args[0]

    def take(self, size):
        """Return it and let it go; None where it has not one row an example."""
        tensor, self.input = self.input, None
        if tensor is None or tensor.dim() != 2 or len(tensor) != size or not tensor.is_floating_point():
            return None
        return tensor


class Features:
    """The representations of some examples of a pass: as tensors, where they are, until the pass is over."""

    def __init__(self):
        self.name = None
        self.keys = []
        self.parts = []
        self.limit = None
        self.is_over = False

    def add(self, batch):
        """Take those of a batch."""
        numpy, torch = sys.modules["numpy"], sys.modules["torch"]
        tensor, batch.features = batch.features, None
        name = "index" if batch.index is not None else "digest"
        if self.is_over or getattr(batch, name) is None or self.name not in (None, name):
            self.stop()
            return
        self.name = name
        keys = keys_of(numpy, name, getattr(batch, name))
        places = numpy.arange(len(keys)) if self.limit is None else numpy.flatnonzero(keys < self.limit)
        if len(places):
            self.keys.append(keys[places])
            self.parts.append(tensor.detach()[torch.from_numpy(places).to(tensor.device)])
        if sum(map(len, self.keys)) > 2 * MOST:
            self.trim(numpy, torch)

    def stop(self):
        """Take no more: not all examples are known, or several layers took turns."""
        self.is_over = True
        self.keys, self.parts = [], []

    def trim(self, numpy, torch):
        """Keep the examples with the smallest keys; of several calls on one, the last."""
        if len({part.shape[1] for part in self.parts}) != 1:
            self.stop()
            return
        joined = numpy.concatenate(self.keys)
        keys, last = numpy.unique(joined[::-1], return_index=True)
        places = (len(joined) - 1 - last)[:MOST]
        tensor = torch.cat(self.parts)
        self.keys = [keys[:MOST]]
        self.parts = [tensor[torch.from_numpy(places).to(tensor.device)]]
        self.limit = keys[MOST] if len(keys) > MOST else self.limit

    def columns(self, numpy, columns):
        """Return the columns ``features`` and ``feature_rows``, the examples that these are of."""
        if not self.keys or self.name not in columns:
            return {}
        self.trim(numpy, sys.modules["torch"])
        if self.is_over:
            return {}
        known, first = numpy.unique(keys_of(numpy, self.name, columns[self.name]), return_index=True)
        found = numpy.isin(self.keys[0], known)
        rows = first[numpy.searchsorted(known, self.keys[0][found])]
        values = self.parts[0].float().cpu().numpy()[found]
        return {"features": values, "feature_rows": rows} if len(rows) else {}


def keys_of(numpy, name, column):
    """Return a number for each example that spreads over all of a data set."""
    return mixed(numpy, column.astype(numpy.uint64)) if name == "index" else column
