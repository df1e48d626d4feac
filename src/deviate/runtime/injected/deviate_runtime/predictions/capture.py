"""The evaluation passes of one process: batches of what models predict, joined with what was to be predicted.

An evaluation pass is a series of batches at one point of the program. It ends when training goes on, when the main loop
does, when a loader begins anew or when the first examples come again. The last pass of each point is kept, and the best
one where it was better.
"""

import sys
import threading
import time

from ..files import own_path
from ..streams.callers import Callers
from ..streams.examples import mixed
from .outputs import joined, probabilities
from .storing import compact, write_pass

#: Callers that tell one evaluation from another.
MAX_FRAMES = 12

#: Passes after which a point at which no examples came back is left alone: it evaluates no fixed set.
PASSES = 16

#: Of that many examples of a pass the digests are compared with those of the first pass; half must be among them.
SKETCH = 64

#: Points of the program that are looked at, and examples of a pass.
MAX_SITES = 32
MAX_ROWS = 5000000

#: Seconds between two writings where no main loop says when.
INTERVAL = 2.0

#: Failures after which nothing is captured any more.
FAILURES = 3


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
    """

    __slots__ = ("size", "index", "digest", "outputs", "target", "label")

    def __init__(self, size, index=None, digest=None, outputs=None, target=None, label=None):
        self.size = size
        self.index = index
        self.digest = digest
        self.outputs = outputs
        self.target = target
        self.label = label


class Pass:
    """The batches of one pass, in order; `whole` are labels and targets of all of them, where a program joins them."""

    __slots__ = ("point", "series", "iteration", "number", "batches", "rows", "whole")

    def __init__(self, point, series, iteration):
        self.point = point
        self.series = series
        self.iteration = iteration
        self.number = point.passes
        self.batches = []
        self.rows = 0
        self.whole = None

    def add(self, batch):
        """Add the next batch."""
        self.batches.append(batch)
        self.rows += batch.size

    def begins_with(self, batch):
        """Tell whether a batch holds the very examples of the first one."""
        first = self.batches[0] if self.batches else batch
        if first is batch or first.digest is None or batch.digest is None or first.size != batch.size:
            return False
        return bool((first.digest == batch.digest).all())


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


class Predictions:
    """What the models of one process predict where they are evaluated.

    Attributes
    ----------
    evaluating : bool
        The last call of a model was one of evaluation.
    """

    def __init__(self, process):
        self.process = process
        self.keep_scores = process.config["predictions"] == "scores"
        self.callers = Callers(process.config)
        self.failures = 0
        self.forget()

    def forget(self):
        """Begin anew; what a forked child inherits is its parent's."""
        self.thread = threading.get_ident()
        self.points = {}
        self.open = {}
        self.current = None
        self.evaluating = False
        self.written_at = time.perf_counter()

    @property
    def wanted(self):
        """Whether to capture what the current thread does."""
        return self.failures < FAILURES and threading.get_ident() == self.thread

    def failed(self, error):
        """Note a failure; after a few, nothing is captured any more."""
        self.failures += 1
        self.process.events.note("predictions-unread", repr(error), "predictions")

    # What the program does

    def train(self):
        """End evaluation, as a model is called in training."""
        self.evaluating, self.current = False, None
        if self.open:
            self.end_passes()

    def tick(self):
        """End passes as the main loop goes on, and write them."""
        self.current = None
        self.end_passes()
        self.write()

    def add(self, batch, frame, series=None, part=""):
        """Add a batch to the pass of the point at which the program is.

        `series` changes when a loader begins anew, `part` distinguishes data sets that are evaluated by the same lines.
        """
        point = self.point_of(frame, part)
        if point is None or point.is_left:
            self.current = None
            return
        known = self.open.get(point.number)
        if known is not None and (known.series != series or known.begins_with(batch) or known.rows > MAX_ROWS):
            self.end_pass(known)
            known = None
        if known is None:
            known = self.open[point.number] = Pass(point, series, self.process.iteration)
        known.add(batch)
        self.current = batch

    def judge(self, outputs, target):
        """Take what a loss was computed of: outputs of the current batch with its targets."""
        batch = self.current
        if batch is not None and target is not None and batch.size == len(target):
            batch.target = target
            if batch.outputs is None:
                batch.outputs = outputs

    def compare(self, label, target, frame):
        """Take labels that the program compares with its targets, for a batch or all of a pass at once."""
        batch = self.current
        if batch is not None and batch.size == len(label):
            batch.label, batch.target = label, target
            return
        whole = [known for known in self.open.values() if known.rows == len(label) and len(known.batches) > 1]
        if whole:
            whole[-1].whole = label, target
        else:
            self.add(Batch(len(label), target=target, label=label), frame)
            self.current = None

    def point_of(self, frame, part):
        """Return the point of the program; None where there are too many."""
        chain = self.chain(frame)
        key = chain, part
        point = self.points.get(key)
        if point is None and chain and len(self.points) < MAX_SITES:
            point = self.points[key] = Point(len(self.points), chain, part)
        return point

    def chain(self, frame):
        """Return file, line and function of the program's frames, innermost first."""
        frames = []
        while frame is not None and len(frames) < MAX_FRAMES:
            if self.callers.is_program(frame):
                frames.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
        return tuple(frames)

    # Ends of passes

    def end_passes(self):
        """End all passes that are open."""
        for known in list(self.open.values()):
            self.end_pass(known)

    def end_pass(self, known):
        """Reduce a pass to columns, and keep them where it is the last or the best one of its point."""
        self.open.pop(known.point.number, None)
        try:
            columns, classes = columns_of(sys.modules["numpy"], known)
            if columns is not None:
                self.keep(known, columns, classes)
        except Exception as error:
            self.failed(error)
        known.point.passes += 1
        if time.perf_counter() - self.written_at >= INTERVAL:
            self.write()

    def keep(self, known, columns, classes):
        """Keep the columns of a pass until they are written."""
        numpy = sys.modules["numpy"]
        point = known.point
        content = content_of(numpy, columns)
        point.look(numpy.unique(content)[:SKETCH].tolist())
        goodness = goodness_of(columns)
        header = {
            "site": self.describe(point.chain[0]),
            "chain": [self.describe(frame) for frame in point.chain],
            "data": point.part,
            "number": known.number,
            "iteration": known.iteration,
            "rank": self.process.rank,
            "rows": len(content),
            "goodness": goodness,
            "examples": "%016x" % examples_of(numpy, content, columns),
            "classes": classes,
        }
        if "index" in columns:
            del columns["digest"]
        point.keep(Kept(header, compact(numpy, columns, self.keep_scores)), goodness)

    def describe(self, frame):
        """Return a frame of the program as the files have it."""
        file, line, function = frame
        return {"file": self.callers.relative(file), "line": line, "function": function}

    # Files

    def finish(self):
        """Write what there is at the end of the process."""
        if threading.get_ident() == self.thread:
            self.end_passes()
            self.write()

    def write(self):
        """Write the passes that changed."""
        self.written_at = time.perf_counter()
        events = self.process.events
        for point in self.points.values():
            for kind, kept in (("last", point.last), ("best", point.best)):
                if kept is None or kept.is_written:
                    continue
                if not events.begun:
                    events.begin()
                kept.is_written = True
                path = own_path(
                    self.process.config["records"], "predictions-%d-%s" % (point.number, kind), events.stem, "bin"
                )
                try:
                    write_pass(path, dict(kept.header, kept=kind), kept.columns)
                except OSError as error:
                    events.note("predictions-unwritten", str(error), "predictions")


class Kept:
    """A pass as it is written."""

    __slots__ = ("header", "columns", "is_written")

    def __init__(self, header, columns):
        self.header = header
        self.columns = columns
        self.is_written = False


# Columns


def columns_of(numpy, known):
    """Return the columns of a pass and the names of its classes, where they have any; None without targets."""
    batches, whole = known.batches, known.whole
    if whole is None:
        # Where the program compares some calls of a model with targets, the others are a part of its way there.
        batches = [batch for batch in batches if batch.label is not None] or batches
        if any(batch.target is None for batch in batches):
            return None, None
    columns = {"target": whole[1] if whole else joined(numpy, [batch.target for batch in batches])}
    columns["target"] = on_host(columns["target"])
    outputs = outputs_of(numpy, batches)
    if whole or batches[0].label is not None:
        columns["label"] = on_host(whole[0]) if whole else joined(numpy, [batch.label for batch in batches])
        classes = as_classes(numpy, columns, ("label", "target"))
        if "label" in outputs and (outputs["label"] != columns["label"]).any():
            outputs = {}  # the program's labels come from somewhere else
    elif "label" in outputs:
        classes = as_classes(numpy, columns, ("target",))
        columns["label"] = outputs["label"]
    elif "value" in outputs:
        classes, columns["value"] = None, outputs["value"]
    else:
        return None, None
    if "label" in outputs:
        columns["score"] = probabilities(numpy, outputs)
        if "scores" in outputs:
            columns["scores"] = outputs["scores"]
    for name in ("index", "digest"):
        parts = [getattr(batch, name) for batch in batches]
        if all(part is not None for part in parts):
            columns[name] = numpy.concatenate(parts)
    return columns, classes


def on_host(column):
    """Return a column as an array of NumPy's."""
    return column if type(column) is sys.modules["numpy"].ndarray else column.cpu().numpy()


def outputs_of(numpy, batches):
    """Return the columns that the outputs of all batches have."""
    if any(batch.outputs is None for batch in batches):
        return {}
    names = set.intersection(*(set(batch.outputs.columns) for batch in batches))
    return {name: joined(numpy, [batch.outputs.columns[name] for batch in batches]) for name in sorted(names)}


def as_classes(numpy, columns, names):
    """Make columns hold whole numbers; return the names that these stand for, None where they are numbers already."""
    for name in names:
        column = columns[name]
        if column.dtype.kind == "f":
            if (column != numpy.floor(column)).any():
                raise ValueError("%s of a classification are no classes" % name)
            columns[name] = column.astype(numpy.int64)
    if all(columns[name].dtype.kind in "iub" for name in names):
        return None
    texts = numpy.concatenate([columns[name].astype(str) for name in names])
    classes, codes = numpy.unique(texts, return_inverse=True)
    for name, part in zip(names, numpy.split(codes.reshape(-1), len(names))):  # noqa: B905
        columns[name] = part
    return classes.tolist()


def content_of(numpy, columns):
    """Return a number for each example, from its input where that is known, else from its target."""
    if "digest" in columns:
        return columns["digest"]
    target = columns["target"]
    words = target.astype(numpy.float64).view(numpy.uint64) if target.dtype.kind == "f" else target.astype(numpy.uint64)
    return mixed(numpy, words + mixed(numpy, numpy.arange(len(words), dtype=numpy.uint64)))


def examples_of(numpy, content, columns):
    """Return a digest of the examples, free of their order; of each with its number in the data set, if it has one."""
    if "index" in columns:
        content = mixed(numpy, content ^ mixed(numpy, columns["index"].astype(numpy.uint64)))
    return int(content.sum(dtype=numpy.uint64))


def goodness_of(columns):
    """Return the share of correct labels, or the mean squared error, negative."""
    target = columns["target"]
    if "label" in columns:
        return float((columns["label"] == target).mean())
    return -float(((columns["value"] - target.astype(float)) ** 2).mean())
