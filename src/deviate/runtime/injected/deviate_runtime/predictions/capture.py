"""The evaluation passes of one process: batches of what models predict, joined with what was to be predicted.

An evaluation pass is a series of batches at one point of the program. It ends when training goes on, when the main loop
does, when a loader begins anew or when the first examples come again. The last pass of each point is kept, and the best
one where it was better.
"""

import contextlib
import os
import sys
import threading
import time
import zlib

from ..files import own_path
from ..interruption import raised_by_handler
from ..streams.callers import Callers
from ..streams.examples import mixed
from .outputs import probabilities
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

#: The slug of notes on evaluations that are not captured.
UNSEEN = "predictions-unseen"

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
    source : object, optional
        Equal for all calls on the same batch of a loader.
    is_confirmed : bool
        The program compared it with targets, or computed a loss or a metric of it.
    """

    __slots__ = ("size", "index", "digest", "outputs", "target", "label", "source", "is_confirmed")

    def __init__(self, size, index=None, digest=None, outputs=None, target=None, label=None, source=None):
        self.size = size
        self.index = index
        self.digest = digest
        self.outputs = outputs
        self.target = target
        self.label = label
        self.source = source
        self.is_confirmed = False

    def repeats(self, other):
        """Tell whether another call was on the very same examples."""
        if self.source is not None or other.source is not None:
            return self.source is other.source
        if self.digest is None or other.digest is None or self.size != other.size:
            return False
        return bool((self.digest == other.digest).all())

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
        if self.outputs is None:
            self.outputs = outputs


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
        """Add the next batch; of several calls on the same examples in turn, the last one counts."""
        if self.batches and self.batches[-1].repeats(batch):
            self.remove(self.batches[-1])
        self.batches.append(batch)
        self.rows += batch.size

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
    evaluating, training : bool
        The last call of a model was one of evaluation, or of training; neither before the first one.
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
        self.pair = None
        self.evaluating = self.training = False
        self.unseen = {}
        self.written_at = time.perf_counter()

    @property
    def wanted(self):
        """Whether to capture what the current thread does."""
        return self.failures < FAILURES and threading.get_ident() == self.thread

    def failed(self, error):
        """Note a failure, after a few of which nothing is captured any more; hand on what is meant for the program."""
        if raised_by_handler(error):
            raise error
        self.failures += 1
        self.process.events.note("predictions-unread", repr(error), "predictions")

    # What the program does

    @contextlib.contextmanager
    def in_thread(self):
        """Capture in the current thread what a library computes in it while the program's waits."""
        before, self.thread = self.thread, threading.get_ident()
        try:
            yield
        finally:
            self.thread = before

    @property
    def evaluates(self):
        """Whether what the current thread measures may be an evaluation."""
        return (self.evaluating or not self.training) and self.wanted

    def train(self, series=None):
        """End evaluation, as a model is called in training; on a batch of `series`, which was no evaluation then."""
        self.evaluating, self.training, self.current = False, True, None
        for known in list(self.open.values()):
            if series is not None and known.series == series:
                self.open.pop(known.point.number)
                known.point.passes += 1
        self.end_passes()

    def evaluate(self):
        """Begin or go on with an evaluation."""
        self.evaluating, self.training, self.current = True, False, None

    def tick(self):
        """End passes as the main loop goes on, and write them."""
        self.current = None
        self.end_passes()
        self.write()

    def add(self, batch, frame, series=None, part=""):
        """Add a batch to the pass of the point at which the program is.

        `series` changes when a loader begins anew, `part` distinguishes data sets that are evaluated by the same lines.
        """
        self.current = None
        point = self.point_of(frame, part)
        if point is None or point.is_left:
            return
        known = self.open.get(point.number)
        if known is not None and known.ends_before(batch, series):
            self.end_pass(known)
            known = None
        if known is None:
            known = self.open[point.number] = Pass(point, series, self.process.iteration)
        known.add(batch)
        self.current = batch

    def leave_out(self, batch):
        """Leave out a batch whose outputs another model was called on."""
        for known in self.open.values():
            known.remove(batch)

    def measure(self, frame, target, label=None, outputs=None):
        """Take what the program measures against targets: labels or outputs, of a batch or all of a pass at once."""
        current = self.current
        if current is not None and current.size == len(target):
            current.confirm(target, label, outputs)
            return
        whole = [known for known in self.open.values() if known.rows == len(target) and len(known.batches) > 1]
        if whole and label is not None:
            whole[-1].whole = label, target
            return
        batch = Batch(len(target), outputs=outputs, target=target, label=label)
        batch.is_confirmed = True
        self.add(batch, frame)
        self.current = current

    def measure_all(self, frame, target, label=None, outputs=None):
        """Take what a function is called on once for all examples; of several functions called on the same, once."""
        pair = crc_of(target), crc_of(next(iter(outputs.columns.values())) if label is None else label)
        if pair == self.pair:
            return
        self.pair = pair
        self.measure(frame, target, label, outputs)

    def miss(self, kind, reason):
        """Take down why an evaluation is not captured."""
        self.unseen.setdefault(kind, reason)

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
        waiting = list(self.open.values())
        confirmed = {known.series for known in waiting if known.series is not None and known.is_confirmed}
        for known in waiting:
            if known.series in confirmed and not known.is_confirmed:
                self.open.pop(known.point.number)  # on the way to what the program measured
            else:
                self.end_pass(known)

    def end_pass(self, known):
        """Reduce a pass to columns, and keep them where it is the last or the best one of its point."""
        self.open.pop(known.point.number, None)
        try:
            columns, classes = columns_of(sys.modules["numpy"], known) if known.batches else (None, None)
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
            "goodness": goodness if goodness > -float("inf") else None,
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
            if not any(point.last for point in self.points.values()):
                for kind, reason in self.unseen.items():
                    self.process.events.note(UNSEEN, reason, kind)

    def write(self):
        """Write the passes that changed."""
        self.written_at = time.perf_counter()
        events = self.process.events
        for point in self.points.values():
            for kind, kept in (("last", point.last), ("best", point.best)):
                if kept.is_written if kept is not None else kind not in point.written:
                    continue
                path = self.path_of(point, kind)
                point.written ^= {kind} if (kind in point.written) == (kept is None) else set()
                try:
                    if kept is not None:
                        kept.is_written = True
                        write_pass(path, dict(kept.header, kept=kind), kept.columns)
                    else:
                        os.unlink(path)  # the last pass is the best one now
                except OSError as error:
                    events.note("predictions-unwritten", str(error), "predictions")

    def path_of(self, point, kind):
        """Return the file of a pass of a point."""
        events = self.process.events
        if not events.begun:
            events.begin()
        return own_path(self.process.config["records"], "predictions-%d-%s" % (point.number, kind), events.stem, "bin")


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
    batches = measured(known.batches)
    outputs, seen = outputs_of(numpy, batches), joined(numpy, [batch.target for batch in batches])
    if known.whole is None:
        label, target = joined(numpy, [batch.label for batch in batches]), seen
    else:
        label, target = (on_host(column) for column in known.whole)
    if target is None:
        return None, None
    is_ordered = known.whole is None or in_order((target, label), (seen, outputs.get("label")))
    columns, classes = measured_columns(numpy, label, target, outputs if is_ordered else {}, known.is_confirmed)
    for name in ("index", "digest") if columns is not None and is_ordered else ():
        column = joined(numpy, [getattr(batch, name) for batch in batches])
        if column is not None:
            columns[name] = column
    return columns, classes


def measured(batches):
    """Leave out calls on the way to what the program compares, where the same examples are compared after them."""
    labelled = [batch for batch in batches if batch.label is not None]
    sources = {id(batch.source) for batch in labelled}
    if all(id(batch.source) in sources for batch in batches):
        return labelled
    for batch in labelled:
        batch.label = None  # a part of the pass: what the model returned counts
    return batches


def in_order(whole, seen):
    """Tell whether targets, or else labels, that a program joined are those of the batches in their order."""
    return next((equal(*pair) for pair in zip(whole, seen) if pair[1] is not None), False)  # noqa: B905


def equal(column, other):
    """Tell whether two columns hold the same."""
    return len(column) == len(other) and bool((column == other).all())


def differ(column, other):
    """Tell whether two columns in this machine's memory are known to differ."""
    arrays = [each for each in (column, other) if type(each) is sys.modules["numpy"].ndarray]
    return len(arrays) == 2 and not equal(*arrays)


def measured_columns(numpy, label, target, outputs, is_confirmed):
    """Return the columns of labels or values with targets, and the names of classes; None where they fit not."""
    classified = label is not None or "label" in outputs
    if classified and not (is_class(target) and (label is None or is_class(label))):
        return None, None
    if classified:
        if label is None and not is_confirmed and not plausible(target, outputs["width"]):
            return None, None
        columns = {"target": target, "label": outputs["label"] if label is None else label}
        classes = as_classes(numpy, columns)
        if "label" not in outputs or not equal(outputs["label"], columns["label"]):
            return columns, classes  # the program's labels come from somewhere else
        if "top" in outputs:
            columns["score"] = probabilities(numpy, outputs)
        if "scores" in outputs:
            columns["scores"] = outputs["scores"]
        return columns, classes
    if "value" in outputs and target.dtype.kind in "iufb" and (is_confirmed or target.dtype.kind == "f"):
        return {"target": target, "value": outputs["value"]}, None
    return None, None


def is_class(column):
    """Tell whether a column holds classes: whole numbers, truth values or names."""
    return column.dtype.kind != "f" or bool((column == column.round()).all())


def plausible(target, width):
    """Tell whether an output with so many columns, which nothing is known to measure, is one of these classes.

    Hidden features and reconstructions have other widths.
    """
    if target.dtype.kind not in "iub" or not target.min() >= 0:
        return False
    return target.max() < width < max(3, 2 * (int(target.max()) + 1))


def on_host(column):
    """Return a column as an array of NumPy's."""
    return column if type(column) is sys.modules["numpy"].ndarray else column.cpu().numpy()


def joined(numpy, parts):
    """Return the parts of a column as one array; None where one is not known."""
    return None if any(part is None for part in parts) else numpy.concatenate([on_host(part) for part in parts])


def outputs_of(numpy, batches):
    """Return the columns that the outputs of all batches have, and their width."""
    widths = {batch.outputs.width for batch in batches if batch.outputs is not None}
    if len(widths) != 1 or any(batch.outputs is None for batch in batches):
        return {}
    names = set.intersection(*(set(batch.outputs.columns) for batch in batches))
    columns = {name: joined(numpy, [batch.outputs.columns[name] for batch in batches]) for name in sorted(names)}
    return dict(columns, width=widths.pop())


def as_classes(numpy, columns):
    """Make columns hold whole numbers; return the names that these stand for, None where they are numbers already."""
    for name, column in columns.items():
        if column.dtype.kind in "fb":
            columns[name] = column.astype(numpy.int64)
    if all(column.dtype.kind in "iu" for column in columns.values()):
        return None
    texts = numpy.concatenate([column.astype(str) for column in columns.values()])
    classes, codes = numpy.unique(texts, return_inverse=True)
    columns.update(zip(columns, numpy.split(codes.reshape(-1), len(columns))))  # noqa: B905
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
    error = float(((columns["value"] - target.astype(float)) ** 2).mean())
    return -error if error == error else -float("inf")  # no number: the worst


def crc_of(column):
    """Return a digest of a column in this machine's memory."""
    return zlib.crc32(column.tobytes())
