"""What is known of the evaluation passes of a program, batch by batch, until they are written.

What enters the last linear layer of a model in evaluation: how it represents some of the examples.
"""

import random
import sys

from ..streams.examples import mixed
from .outputs import is_floating

#: Examples of a pass that are kept: those whose identities have the smallest digests, the same ones in every run.
MOST_FEATURES = 1000


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
        if sum(map(len, self.keys)) > 2 * MOST_FEATURES:
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
        places = (len(joined) - 1 - last)[:MOST_FEATURES]
        self.keys = [keys[:MOST_FEATURES]]
        self.parts = [rows_at(numpy, joined_rows(numpy, self.parts), places)]
        self.limit = keys[MOST_FEATURES] if len(keys) > MOST_FEATURES else self.limit

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
    return numpy.argsort(digests, kind="stable")[:MOST_FEATURES]


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


#: Passes after which a point at which no examples came back is left alone: it evaluates no fixed set.
PASSES = 16

#: Outputs of a pass that are compared with those of the next one.
COMPARED = 4096

#: Targets from which on two batches with the same ones are of the same examples.
TARGETS = 10

#: Examples of a pass.
MAX_ROWS = 5000000


class Batch:
    """Examples that were evaluated together.

    Attributes
    ----------
    index : array, optional
        Their numbers in the data set.
    digest : array, optional
        A number for each by its input.
    outputs : Outputs, optional
        What the model returned.
    target : array or tensor, optional
        What was to be predicted.
    label : array or tensor, optional
        What the program itself took for the prediction.
    source : object, optional
        Equal for all calls on the same batch of a loader.
    features : tensor, optional
        What entered the last linear layer, until the pass has taken its part of it.
    feature_rows : array, optional
        The rows that these are of; None: all.
    inputs : array or tensor, optional
        Its inputs where they are pictures or texts, until the pass has taken its part of them.
    is_confirmed : bool
        The program compared it with targets, or computed a loss or a metric of it.
    model : int, optional
        What the model is known by; None where its calls are not compared.
    is_varied : bool
        The model returned other outputs for the very same inputs before, and the program measured neither.
    """

    __slots__ = (
        "size", "index", "digest", "outputs", "target", "label", "source", "is_confirmed", "features", "feature_rows",
        "inputs", "model", "is_varied",
    )  # fmt: skip

    def __init__(self, size, index=None, digest=None, outputs=None, target=None, label=None, source=None):
        self.size = size
        self.index = index
        self.digest = digest
        self.outputs = outputs
        self.target = target
        self.label = label
        self.source = source
        self.is_confirmed = self.is_varied = False
        self.features = self.feature_rows = self.inputs = self.model = None

    def repeats(self, other):
        """Tell whether another call was on the very same examples."""
        if self.source is not None or other.source is not None:
            return self.source is other.source
        if self.size != other.size:
            return False
        if self.digest is None and other.digest is None:
            return are_same_targets(self.target, other.target)
        return self.digest is not None and other.digest is not None and equal(self.digest, other.digest)

    def varies_from(self, other):
        """Tell whether the model returned other outputs for the very same inputs before, as with active dropout."""
        if other.is_varied or self.model is None or self.model != other.model:
            return other.is_varied
        if any(each.digest is None or each.outputs is None for each in (self, other)):
            return False
        level, before = (level_of(each.outputs.columns) for each in (self, other))
        return equal(self.digest, other.digest) and vary(level, before)

    def confirm(self, target, label=None, outputs=None):
        """Take what the program computed a measure of, unless it is another thing than predictions with targets.

        Where the loader's target is known here, one of the two is equal to it.
        """
        if label is not None and differ(self.target, target):
            if differ(self.target, label):
                return
            label, target = target, label
        self.target, self.is_confirmed = target, True
        if label is not None:
            self.label = label
        if self.is_varied and (label is not None or outputs is not None):
            self.outputs, self.is_varied = None, False  # what the program measures counts
        if self.outputs is None:
            self.outputs = outputs


class Pass:
    """The batches of one pass, in order; `whole` are labels and targets of all of them, where a program joins them."""

    __slots__ = ("point", "series", "iteration", "number", "batches", "rows", "whole", "features", "uncertain")

    def __init__(self, point, series, iteration):
        self.point = point
        self.series = series
        self.iteration = iteration
        self.number = point.passes
        self.batches = []
        self.rows = 0
        self.whole = None
        self.features = Features()
        self.uncertain = Uncertain()

    def add(self, batch):
        """Add the next batch; of several calls on the same examples in turn, the last one counts."""
        if self.batches and self.batches[-1].repeats(batch):
            batch.is_varied = batch.varies_from(self.batches[-1])
            self.remove(self.batches[-1])
        self.batches.append(batch)
        self.rows += batch.size
        if batch.features is not None:
            self.features.add(batch)
        if batch.inputs is not None:
            self.uncertain.add(batch)

    def remove(self, batch):
        """Remove a batch that was but a part of the way to a prediction."""
        if batch in self.batches:
            self.batches.remove(batch)
            self.rows -= batch.size

    def ends_before(self, batch, series):
        """Tell whether a batch begins another pass: with a loader that began anew, or with the first examples."""
        if self.series != series or self.rows > MAX_ROWS:
            return True
        return len(self.batches) > 1 and self.batches[0].repeats(batch)

    @property
    def is_confirmed(self):
        """Whether the program measured any of it."""
        return self.whole is not None or any(batch.is_confirmed for batch in self.batches)

    def settle(self):
        """Tell whether it is known which outputs count; of those that vary, only labels that the program joined do."""
        varied = [batch for batch in self.batches if batch.is_varied]
        for batch in varied if self.whole is not None else ():
            batch.outputs = None
        return self.whole is not None or not varied


class Point:
    """A point of the program at which models are evaluated.

    Attributes
    ----------
    passes : int
        Passes that ended.
    last, best : Kept, optional
        The last pass, and the best one where it is another.
    goodness : float, optional
        Of the best pass.
    written : set
        ``last`` and ``best`` where there is a file.
    every : Every, optional
        All passes, where they are kept.
    seen : tuple
        By what the last pass is known, and some of its outputs; see `varies`.
    is_varied : bool
        Outputs for the same examples varied, and the program measured none of them.
    """

    def __init__(self, number, chain, part):
        self.number = number
        self.chain = chain
        self.part = part
        self.passes = 0
        self.last = None
        self.best = None
        self.goodness = None
        self.sketch = None
        self.has_returned = False
        self.written = set()
        self.every = None
        self.seen = None, None
        self.is_varied = False

    def varies(self, key, columns):
        """Tell whether a pass has other outputs than the one before it that is known by the same."""
        outputs = level_of(columns)
        before, self.seen = self.seen, (key, None if outputs is None else outputs[:COMPARED].copy())
        return before[0] == key and vary(self.seen[1], before[1])

    def withhold(self):
        """Keep nothing of passes whose outputs vary: which of them counts is not known."""
        self.is_varied = True
        self.last = self.best = self.goodness = self.every = None

    @property
    def is_left(self):
        """Whether its passes evaluate other examples each time."""
        return self.passes >= PASSES and not self.has_returned

    def look(self, numbers):
        """Learn from the smallest numbers of a pass's examples whether they came back."""
        if self.sketch is None:
            self.sketch = set(numbers)
        elif 2 * len(self.sketch.intersection(numbers)) >= len(self.sketch):
            self.has_returned = True

    def keep(self, kept, goodness):
        """Keep a pass as the last one, and what was the last one as the best where it was."""
        if self.last is None or goodness >= self.goodness:
            self.best, self.goodness = None, goodness
        elif self.best is None:
            self.best = self.last
            self.best.is_written = False
        self.last = kept


class Kept:
    """A pass that is written, unless the next one takes its place before; compact once it was."""

    __slots__ = ("header", "columns", "is_compact", "is_written")

    def __init__(self, header, columns):
        self.header = header
        self.columns = columns
        self.is_compact = self.is_written = False


def level_of(columns):
    """Return a number for each example that shows whether outputs are the same; None on devices, to wait for none."""
    level = next((columns[name] for name in ("value", "top", "score") if name in columns), None)
    return level if type(level) is sys.modules["numpy"].ndarray else None


def vary(outputs, others):
    """Tell whether outputs are known to differ by more than rounding does."""
    if outputs is None or others is None or outputs.shape != others.shape:
        return False
    return not sys.modules["numpy"].allclose(outputs, others, rtol=1e-3, atol=1e-6, equal_nan=True)


def differ(column, other):
    """Tell whether two columns in this machine's memory are known to differ."""
    arrays = [each for each in (column, other) if type(each) is sys.modules["numpy"].ndarray]
    return len(arrays) == 2 and not equal(*arrays)


def are_same_targets(column, other):
    """Tell whether targets whose inputs are unknown are the same: many, and not all of one class."""
    arrays = all(type(each) is sys.modules["numpy"].ndarray for each in (column, other))
    return arrays and len(column) >= TARGETS and equal(column, other) and bool((column != column[0]).any())


def equal(column, other):
    """Tell whether two columns hold the same."""
    return len(column) == len(other) and bool((column == other).all())


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


class Undrawn:
    """Puts back the states of generators, and what was counted of draws."""

    def __init__(self, streams):
        self.streams = streams

    def __enter__(self):
        self.counts = dict(self.streams.counts)
        self.states = random.getstate(), sys.modules["numpy"].random.get_state()

    def __exit__(self, *raised):
        self.streams.counts = self.counts
        if random.getstate() != self.states[0]:
            random.setstate(self.states[0])
        sys.modules["numpy"].random.set_state(self.states[1])
