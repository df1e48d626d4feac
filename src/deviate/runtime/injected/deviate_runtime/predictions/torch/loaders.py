"""The batches that loaders of PyTorch yielded last: which examples of which data set they hold."""

import sys
import weakref

from ...patching import replaces
from ...streams.examples import len_of
from ..outputs import is_floating, is_tensor
from ..targets import flat
from ..texts import texts_in
from .nests import TARGETS, tensors_in

#: Batches of loaders that may be evaluated next: some libraries load ahead.
AHEAD = 4


def loaders_of(predictions):
    """Return the loaders of a process."""
    known = vars(predictions).get("loaders")
    if known is None:
        known = predictions.loaders = Loaders()
    return known


class Loaders:
    """The batches that loaders yielded last.

    Attributes
    ----------
    count : int
        Batches that were yielded.
    trained : int
        The number of those that were there when a model was called in training last.
    """

    def __init__(self):
        self.loaded = []
        self.series = self.count = self.trained = 0

    def add(self, iterator, batch, index):
        """Take a batch of an iterator down."""
        own = iterator.__dict__
        known = own.get("_deviate_series")
        if known is None:
            self.series += 1
            known = own["_deviate_series"] = self.series, part_of(iterator._dataset)
        self.count += 1
        self.loaded.append(Loaded(self.count, known, index, batch))
        if len(self.loaded) > AHEAD:
            del self.loaded[0]

    def latest_series(self):
        """Return the series of the batch that was yielded last."""
        return self.loaded[-1].series if self.loaded else None

    def find(self, size, tensors):
        """Return the batch that a model is called on: that with one of its tensors, else the last of its size.

        What a model was trained on meanwhile is not looked for by its size, nor what was evaluated in a pass over a
        loader that ended: its tensors may still be there.
        """
        fitting = [each for each in self.loaded if size in each.sizes]
        identities = {id(tensor) for tensor in tensors}
        same = [each for each in fitting if any(id(tensor) in identities for tensor in each.alive())]
        later = [each for each in fitting if each.number > self.trained and not (each.is_used and each.is_over)]
        chosen = (same or later or [None])[-1]
        if chosen is not None:
            chosen.is_used = True
        return chosen

    def end(self, iterator):
        """Take down that an iterator is over."""
        series, _ = iterator.__dict__.pop("_deviate_series", (None, ""))
        for each in self.loaded:
            each.is_over = each.is_over or each.series == series


def part_of(dataset):
    """Return what tells a data set from others: it may be made anew for each pass."""
    return "%s of %d" % (type(dataset).__name__, len_of(dataset))


class Loaded:
    """A batch of a loader: its tensors, as long as the program holds them, and where its examples come from."""

    __slots__ = ("number", "series", "part", "index", "tensors", "sizes", "singles", "texts", "is_used", "is_over")

    def __init__(self, number, known, index, batch):
        torch = sys.modules["torch"]
        plain = plain_tensors(torch, batch)
        named = plain or list(named_tensors(batch))
        self.number = number
        self.series, self.part = known
        self.index = index
        self.is_used = self.is_over = False
        self.tensors = [(name, weakref.ref(tensor)) for name, tensor in named]
        # `len` of a tensor is a function of Python's, which takes longer than all else here.
        self.sizes = {shape[0] for shape in [tensor.shape for _, tensor in named] if shape}
        self.texts = () if plain else texts_in(batch)
        #: A program that moves its batches to a device may hold what it moved only.
        self.singles = self.read_singles() if torch.cuda.is_initialized() else None

    def alive(self):
        """Return the tensors that are still there."""
        return [tensor for tensor in (reference() for _, reference in self.tensors) if tensor is not None]

    def read_singles(self):
        """Return name, identity and a copy of the tensors that have one entry an example."""
        alive = ((name, reference()) for name, reference in self.tensors)
        return [(name, id(tensor), flat(tensor)) for name, tensor in alive if tensor is not None and is_single(tensor)]

    def index_of(self, size):
        """Return the numbers of its examples in the data set, None where a data set has none."""
        if not isinstance(self.index, (list, tuple)) or len(self.index) != size:
            return None
        numbers = sys.modules["numpy"].asarray(self.index)
        return numbers.astype("int64") if numbers.ndim == 1 and numbers.dtype.kind in "iu" else None

    def target(self, size, inputs):
        """Return its targets: by name, else what alone is one class an example, else alone one value; no input."""
        identities = {id(tensor) for tensor in inputs}
        index = self.index_of(size)
        singles = self.read_singles() if self.singles is None else self.singles
        single = [
            (name, values)
            for name, identity, values in singles
            if len(values) == size and identity not in identities and not is_same(values, index)
        ]
        named = [values for name, values in single if name in TARGETS]
        classes = [values for _, values in single if not is_floating(values)]
        for chosen in (named, classes, [values for _, values in single]):
            if chosen:
                return chosen[0] if len(chosen) == 1 else None
        return None


def named_tensors(batch):
    """Yield the tensors of a batch with their names, empty where they have none."""
    if hasattr(batch, "items"):
        for name, value in batch.items():
            yield from ((name, tensor) for tensor in tensors_in(value))
    else:
        yield from (("", tensor) for tensor in tensors_in(batch))


def plain_tensors(torch, batch):
    """Return the tensors of the usual batch, a list or tuple of them, with empty names; None for any other batch."""
    is_usual = type(batch) in (list, tuple) and all(is_tensor(torch, each) for each in batch)
    return [("", each) for each in batch] if is_usual else None


def is_single(tensor):
    """Tell whether a tensor in this machine's memory has one entry an example."""
    return tensor.dim() > 0 and tensor.numel() == len(tensor) and tensor.device.type == "cpu"


def is_same(values, index):
    """Tell whether values are the numbers of the examples."""
    return index is not None and len(values) == len(index) and bool((values == index).all())


def watch_loaders(data, process):
    """Know which examples of which data set the batches of loaders are."""
    predictions = process.predictions
    loaders = loaders_of(predictions)
    cls = data.dataloader._BaseDataLoaderIter
    plain_next, plain_index = cls.__next__, cls._next_index

    @replaces(cls, "__next__")
    def __next__(self):
        try:
            batch = plain_next(self)
        except StopIteration:
            loaders.end(self)
            raise
        try:
            indices = self.__dict__.get("_deviate_indices")
            index = indices.pop(0) if indices else None
            if predictions.wanted:
                loaders.add(self, batch, index)
        except Exception as error:
            predictions.failed(error)
        return batch

    @replaces(cls, "_next_index")
    def _next_index(self):
        index = plain_index(self)
        if getattr(self, "_in_order", True):
            self.__dict__.setdefault("_deviate_indices", []).append(index)
        return index

    for subclass in (cls, *cls.__subclasses__()):
        if "_reset" in vars(subclass):
            begin_anew(subclass)


def begin_anew(cls):
    """Forget the indices that were drawn for batches which nobody took."""
    plain = cls._reset

    @replaces(cls, "_reset")
    def _reset(self, *args, **kwargs):
        self.__dict__.pop("_deviate_indices", None)
        self.__dict__.pop("_deviate_series", None)
        return plain(self, *args, **kwargs)
