"""What models of PyTorch return where they are evaluated, with the targets that loaders and losses show."""

import sys
import weakref

from ..patching import replaces
from ..streams.examples import len_of, row_hashes
from .capture import Batch
from .outputs import is_floating, is_scores, is_tensor, is_values, numpy_of, read_outputs
from .targets import flat, read_targets

#: Batches of loaders that may be evaluated next: some libraries load ahead.
AHEAD = 4

#: Where models return several things, the names of those that are scores.
NAMES = ("logits", "scores", "prediction", "predictions", "output", "out")

#: Arguments of models that are targets.
TARGETS = ("labels", "targets", "target", "label", "y")

LOSSES = "torch.nn.modules.loss"


def watch_models(torch, process):
    """Make known what looks at the outermost calls of models; `streams.torch.modules` has it called."""
    process.predictions.look = Models(torch, process.predictions).look


class Models:
    """The outermost calls of models in one process."""

    def __init__(self, torch, predictions):
        self.torch = torch
        self.predictions = predictions
        self.tracing = getattr(torch._C, "_get_tracing_state", lambda: None)
        self.loaders = loaders_of(predictions)

    def look(self, module, args, kwargs, returned):
        """Take what a call returned in evaluation; one in training ends it."""
        predictions = self.predictions
        trains = module.training and self.torch.is_grad_enabled()
        if trains and not predictions.evaluating:
            return
        try:
            if not predictions.wanted or self.tracing() is not None:
                return
            if not has_parameters(module):
                if predictions.evaluating and type(module).__module__ == LOSSES:
                    self.judge(args)
                return
            if trains:
                predictions.train()
                return
            predictions.evaluating, predictions.current = True, None
            output = main_output(returned)
            if output is not None:
                self.take(output, args, kwargs)
        except Exception as error:
            predictions.failed(error)

    def take(self, output, args, kwargs):
        """Add a batch with what is known of it."""
        size = len(output)
        tensors = list(tensors_in((args, kwargs)))
        loaded = self.loaders.find(size, tensors)
        batch = Batch(size, outputs=read_outputs(output, self.predictions.keep_scores))
        if batch.outputs is None:
            return
        digests = (digest_of(tensor, size) for tensor in (*tensors, *(loaded.alive() if loaded else ())))
        batch.digest = next((digest for digest in digests if digest is not None), None)
        if loaded is not None:
            batch.index = loaded.index_of(size)
        batch.target = given_target(kwargs, size)
        if batch.target is None and loaded is not None:
            batch.target = loaded.target(size, tensors)
        series, part = (loaded.series, loaded.part) if loaded else (None, "")
        self.predictions.add(batch, sys._getframe(2), series, part)

    def judge(self, args):
        """Take what a loss is computed of: outputs and targets."""
        if len(args) == 2:
            output, target = args
            outputs = read_outputs(output, self.predictions.keep_scores)
            self.predictions.judge(outputs, read_targets(target, len(output)))


def has_parameters(module):
    """Tell whether a module is a model: a loss, or an activation, has no parameters."""
    return next(sys.modules["torch"].nn.Module.parameters(module), None) is not None


def main_output(returned, depth=0):
    """Return the tensor that is scores or values among what a model returned, None where there is none."""
    if is_tensor(sys.modules["torch"], returned):
        return returned if is_scores(returned) or is_values(returned) else None
    if depth > 1:
        return None
    if hasattr(returned, "items"):
        named = [returned[name] for name in NAMES if name in returned]
        items = named or list(returned.values())
    elif isinstance(returned, (list, tuple)):
        items = returned
    else:
        return None
    outputs = (main_output(item, depth + 1) for item in items)
    return next((output for output in outputs if output is not None), None)


def tensors_in(value, depth=0):
    """Yield the plain tensors in a nest of containers."""
    if is_tensor(sys.modules["torch"], value):
        yield value
    elif depth < 3 and hasattr(value, "values") and hasattr(value, "items"):
        for inner in value.values():
            yield from tensors_in(inner, depth + 1)
    elif depth < 3 and isinstance(value, (list, tuple)):
        for inner in value:
            yield from tensors_in(inner, depth + 1)


def digest_of(tensor, size):
    """Return a number for each row of an input in this machine's memory, None for any other tensor."""
    if tensor.ndim == 0 or len(tensor) != size or tensor.device.type != "cpu":
        return None
    array = numpy_of(tensor)
    return None if array is None else row_hashes(array)


def given_target(kwargs, size):
    """Return the targets that a model is called with."""
    found = (read_targets(kwargs[name], size) for name in TARGETS if kwargs.get(name) is not None)
    return next((target for target in found if target is not None), None)


# Loaders


def loaders_of(predictions):
    """Return the loaders of a process."""
    known = vars(predictions).get("loaders")
    if known is None:
        known = predictions.loaders = Loaders()
    return known


class Loaders:
    """The batches that loaders yielded last."""

    def __init__(self):
        self.loaded = []
        self.series = 0

    def add(self, iterator, batch):
        """Take a batch of an iterator down."""
        own = iterator.__dict__
        indices = own.get("_deviate_indices")
        if "_deviate_series" not in own:
            self.series += 1
            own["_deviate_series"] = self.series
        tensors = [weakref.ref(tensor) for tensor in tensors_in(batch)]
        index = indices.pop(0) if indices else None
        self.loaded.append(Loaded(own["_deviate_series"], part_of(iterator._dataset), index, tensors))
        del self.loaded[:-AHEAD]

    def find(self, size, tensors):
        """Return the batch that a model is called on: that with one of its tensors, else the last of its size."""
        fitting = [each for each in self.loaded if each.fits(size)]
        identities = {id(tensor) for tensor in tensors}
        same = [each for each in fitting if any(id(tensor) in identities for tensor in each.alive())]
        return (same or fitting or [None])[-1]


def part_of(dataset):
    """Return what tells a data set from others: it may be made anew for each pass."""
    return "%s of %d" % (type(dataset).__name__, len_of(dataset))


class Loaded:
    """A batch of a loader: its tensors, as long as the program holds them, and where its examples come from."""

    __slots__ = ("series", "part", "index", "tensors")

    def __init__(self, series, part, index, tensors):
        self.series = series
        self.part = part
        self.index = index
        self.tensors = tensors

    def alive(self):
        """Return the tensors that are still there."""
        return [tensor for tensor in (reference() for reference in self.tensors) if tensor is not None]

    def fits(self, size):
        """Tell whether it has so many examples."""
        return any(tensor.ndim and len(tensor) == size for tensor in self.alive())

    def index_of(self, size):
        """Return the numbers of its examples in the data set, None where a data set has none."""
        numpy = sys.modules["numpy"]
        if not isinstance(self.index, (list, tuple)) or len(self.index) != size:
            return None
        if not all(isinstance(number, int) for number in self.index):
            return None
        return numpy.array(self.index, dtype=numpy.int64)

    def target(self, size, inputs):
        """Return its targets: the last of its tensors that is one number an example and no input; classes first."""
        identities = {id(tensor) for tensor in inputs}
        single = [
            tensor
            for tensor in self.alive()
            if id(tensor) not in identities and tensor.ndim and len(tensor) == size and tensor.numel() == size
        ]
        classes = [tensor for tensor in single if not is_floating(tensor)]
        chosen = classes or single
        return flat(chosen[-1]) if chosen else None


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
            self.__dict__.pop("_deviate_series", None)
            raise
        try:
            if predictions.wanted:
                loaders.add(self, batch)
        except Exception as error:
            predictions.failed(error)
        return batch

    @replaces(cls, "_next_index")
    def _next_index(self):
        index = plain_index(self)
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
