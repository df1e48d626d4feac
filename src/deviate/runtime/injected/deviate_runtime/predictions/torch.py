"""What models of PyTorch return where they are evaluated, with the targets that loaders and losses show."""

import sys
import weakref

from ..patching import replaces
from ..streams.examples import len_of, row_hashes
from .outputs import (
    flat,
    is_floating,
    is_scores,
    is_tensor,
    is_values,
    numpy_of,
    one_hot,
    pictures_of,
    read_outputs,
    read_targets,
)
from .passes import Batch, features_of
from .texts import is_tokens, joined_texts, text_hashes, texts_in, token_batch

#: Where models return several things, the names of those that are scores.
NAMES = ("logits", "scores", "prediction", "predictions", "output", "out")

LOSSES = "torch.nn.modules.loss"

#: Losses of two classes, with the output from which on the second one is predicted.
THRESHOLDS = {"BCEWithLogitsLoss": 0, "BCELoss": 0.5}

UNREAD = "%s returned %s, which is no score of each class, no value and no token of each example: its predictions are \
not captured; `--predictions FILE` takes them from a file that the program writes"


class Models:
    """The outermost calls of models in one process."""

    def __init__(self, torch, predictions):
        self.torch = torch
        self.predictions = predictions
        self.tracing = getattr(torch._C, "_get_tracing_state", lambda: None)
        self.loaders = loaders_of(predictions)
        #: What the model returned last, by itself and as the batch that it became.
        self.latest = None, None

    def look(self, module, args, kwargs, returned):
        """Take what a call returned in evaluation; one in training ends it."""
        predictions = self.predictions
        trains = module.training and self.torch.is_grad_enabled()
        if trains and predictions.last_input is not None:
            predictions.last_input.input = None
        if trains and not predictions.evaluating:
            predictions.training = True
            self.loaders.trained = self.loaders.count
            return
        try:
            if not predictions.wanted or self.tracing() is not None:
                return
            if not has_parameters(module):
                if predictions.evaluating and type(module).__module__ == LOSSES:
                    self.judge(type(module).__name__, args)
                return
            if trains:
                self.loaders.trained = self.loaders.count
                predictions.train(self.loaders.latest_series())
                return
            self.evaluate(module, returned, args, kwargs)
        except Exception as error:
            predictions.failed(error)

    def evaluate(self, module, returned, args, kwargs):
        """Take what a model returned, unless another model was trained on the same batch before."""
        predictions = self.predictions
        output = main_output(returned)
        tensors = list(tensors_in((args, kwargs)))
        loaded = None if output is None else self.loaders.find(len(output), tensors)
        if loaded is not None and loaded.number <= self.loaders.trained:
            return
        predictions.evaluate()
        before, batch_before = self.latest
        if batch_before is not None and any(before() is tensor for tensor in tensors):
            predictions.leave_out(batch_before)
        if output is not None:
            self.add(module, output, tensors, loaded, args, kwargs)
        else:
            self.miss(module, next(tensors_in(returned), None))

    def add(self, module, output, tensors, loaded, args, kwargs):
        """Add a batch with what is known of it."""
        predictions = self.predictions
        if output.dim() == 3:
            batch = token_batch(module, output, tensors, args, kwargs)
            series, part = None, ""
        else:
            batch = Batch(len(output), outputs=read_outputs(output, predictions.keep_scores), source=loaded)
            batch.model = id(module)
            self.describe(batch, tensors, args, kwargs, loaded)
            if predictions.last_input is not None:
                batch.features = features_of(predictions.last_input.take(), batch.size)
                batch.inputs = first_inputs(tensors, (args, kwargs), loaded, batch.size)
            series, part = (loaded.series, loaded.part) if loaded else (None, "")
        if batch is None or batch.outputs is None:
            self.miss(module, output)
            return
        predictions.add(batch, sys._getframe(3), series, part)
        self.latest = weakref.ref(output), batch

    def miss(self, module, output):
        """Take down that an output of a model cannot be read."""
        name = type(module).__name__
        shape = "no tensor" if output is None else "a tensor of " + "x".join(map(str, output.shape))
        self.predictions.miss(name, UNREAD % (name, shape))

    def describe(self, batch, tensors, args, kwargs, loaded):
        """Take down which examples a batch holds, and their targets where they are known."""
        digests = (digest_of(tensor, batch.size) for tensor in (*tensors, *(loaded.alive() if loaded else ())))
        batch.digest = next((digest for digest in digests if digest is not None), None)
        if batch.digest is None:
            texts = next((texts for _, texts in (*texts_in(args), *texts_in(kwargs)) if len(texts) == batch.size), None)
            batch.digest = None if texts is None else text_hashes(texts)
        batch.target = given_target(kwargs, batch.size)
        batch.is_confirmed = batch.target is not None
        if loaded is not None:
            batch.index = loaded.index_of(batch.size)
            if batch.target is None:
                batch.target = loaded.target(batch.size, tensors)

    def judge(self, name, args):
        """Take what a loss is computed of: outputs and targets."""
        batch = self.predictions.current
        if batch is None or len(args) != 2 or not all(is_tensor(self.torch, each) and each.dim() for each in args):
            return
        output, target = args
        if tuple(output.shape) == tuple(target.shape) and output.dim() == 2 and output.shape[1] > 1:
            target = one_hot(target) if is_floating(target) else None
            if target is None:
                batch.outputs = None  # several values an example, or a reconstruction
                return
        outputs = read_outputs(output, self.predictions.keep_scores)
        target = read_targets(target, len(output))
        if outputs is not None and target is not None and len(target) == batch.size:
            batch.confirm(target, outputs=outputs)
            if name in THRESHOLDS and "value" in outputs.columns and batch.label is None:
                batch.label = outputs.columns["value"] > THRESHOLDS[name]


def first_inputs(tensors, called_on, loaded, size):
    """Return the first of the inputs of a model that are pictures, else texts that it or its loader has; or None."""
    found = (pictures_of(tensor, size, 1) for tensor in tensors)
    pictures = next((pictures for pictures in found if pictures is not None), None)
    if pictures is not None:
        return pictures
    args, kwargs = called_on
    texts = joined_texts([*texts_in(args), *texts_in(kwargs)], size)
    return joined_texts(loaded.texts, size) if texts is None and loaded is not None else texts


def has_parameters(module):
    """Tell whether a module is a model: a loss, or an activation, has no parameters."""
    return next(sys.modules["torch"].nn.Module.parameters(module), None) is not None


def main_output(returned, depth=0):
    """Return the tensor that is scores or values among what a model returned, None where there is none."""
    if is_tensor(sys.modules["torch"], returned):
        return returned if is_scores(returned) or is_values(returned) or is_tokens(returned) else None
    if depth > 1:
        return None
    if has_entries(returned):
        entries = dict(returned.items())
        items = [entries[name] for name in NAMES if name in entries] or list(entries.values())
    elif isinstance(returned, (list, tuple)):
        items = returned
    else:
        return None
    outputs = (main_output(item, depth + 1) for item in items)
    return next((output for output in outputs if output is not None), None)


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


#: Names of targets, as entries of a batch and as arguments of a model.
TARGETS = ("labels", "targets", "target", "label", "y")


def has_entries(value):
    """Tell whether a value is read like a dictionary: named tuples of some libraries have these methods alone."""
    return callable(getattr(value, "keys", None)) and callable(getattr(value, "items", None))


def tensors_in(value, depth=0):
    """Yield the plain tensors in a nest of containers."""
    if is_tensor(sys.modules["torch"], value):
        yield value
    elif depth < 3 and has_entries(value):
        for _, inner in value.items():
            yield from tensors_in(inner, depth + 1)
    elif depth < 3 and isinstance(value, (list, tuple)):
        for inner in value:
            yield from tensors_in(inner, depth + 1)
