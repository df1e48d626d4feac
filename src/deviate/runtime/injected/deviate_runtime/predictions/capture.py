"""The evaluation passes of one process: batches of what models predict, joined with what was to be predicted.

An evaluation pass is a series of batches at one point of the program. It ends when training goes on, when the main loop
does, when a loader begins anew or when the first examples come again. The last pass of each point is kept, and the best
one where it was better.

Files of predictions: a line of JSON, then the columns, each compressed by zlib.

The header holds ``schema``, ``kept`` (``last`` or ``best``), ``site`` (``file``, ``line``, ``function``), ``chain``
(the frames that led there, innermost first), ``data`` (what tells data sets apart that the same lines evaluate),
``number`` (of the pass at its site, from 0), ``iteration`` of the main loop, ``rank``, ``rows``, ``goodness`` (the
share of correct labels, or the negative mean squared error; null where that is no number), ``classes`` (names, where
labels are numbers of names, else null) and ``columns``: ``name``, ``dtype`` (NumPy's, little-endian), ``shape``,
``bytes`` in the file, in its order.

Columns, one entry an example in the order in which they were evaluated: ``target``; ``label`` or ``value``; ``score``,
the probability of the label; ``scores`` of all classes; ``index``, the number in the data set, as differences;
``digest`` of the input. Beside them, of some examples alone, ``features``, what entered the last linear layer, and
``feature_rows``, the numbers of their rows; of the least certain ``pictures``, inputs of 8 bits in the shape
``(examples, height, width, channels)``, and ``picture_rows``; or the beginnings of ``texts``, a column for each
character, filled up with 0, and ``text_rows``.

A file of every pass (``kept`` is ``every``) has one such part after the other, with the examples in the order of their
index or digest. Of those after the first the line has only ``number``, ``iteration``, ``classes``, ``columns`` and
``difference``: whether ``label``, their only column, is the difference from the pass before.

The columns of an evaluation pass: labels or values, targets, scores, and what identifies each example.
"""

import contextlib
import json
import os
import sys
import threading
import time
import zlib

from ..files import own_path
from ..patching import raised_by_handler
from ..streams.callers import Callers
from ..streams.examples import mixed
from .outputs import bytes_of_pictures, probabilities
from .passes import Batch, Kept, LastInput, Pass, Point, equal

SCHEMA = 1

#: zlib's fastest: the columns that compress do so at any level.
LEVEL = 1


def write_pass(path, header, columns):
    """Write a pass aside, then in the place of what was there."""
    aside = path + ".tmp"
    with open(aside, "wb") as file:
        file.write(as_bytes(header, columns))
    os.replace(aside, path)


def append_passes(path, passes):
    """Write headers and columns of passes behind what is there."""
    with open(path, "ab") as file:
        file.write(b"".join(as_bytes(header, columns) for header, columns in passes))


def as_bytes(header, columns):
    """Return a pass as it is written."""
    blocks, described = [], []
    for name, array in columns.items():
        plain = array.astype(array.dtype.newbyteorder("<"), copy=False)
        block = zlib.compress(plain.tobytes(), LEVEL)
        blocks.append(block)
        described.append({"name": name, "dtype": plain.dtype.str, "shape": list(plain.shape), "bytes": len(block)})
    text = json.dumps(dict(header, schema=SCHEMA, columns=described))
    return text.encode("ascii") + b"\n" + b"".join(blocks)


def compact(numpy, columns, keep_scores):
    """Return columns in the smallest types that hold them."""
    small = {}
    for name, array in columns.items():
        if name == "index":
            array = numpy.diff(array, prepend=array.dtype.type(0))
        if name == "pictures":
            array = bytes_of_pictures(numpy, array)
        if name == "texts":
            array = array.view(numpy.uint32).reshape(len(array), -1)
        if name == "score" and not keep_scores:
            array = array.astype(numpy.float16)
        if array.dtype.kind in "iu" and name != "digest":
            kind = numpy.promote_types(numpy.min_scalar_type(array.min()), numpy.min_scalar_type(array.max()))
            array = array.astype(kind) if kind.kind in "iu" else array
        if array.dtype == numpy.float64 and (array.astype(numpy.float32) == array).all():
            array = array.astype(numpy.float32)
        small[name] = array
    return small


class Every:
    """Passes on the same examples, in one order, that wait to be written.

    The first pass has `target`, `label` and what identifies the examples; each later one the differences of its labels
    from those of the pass before, which are mostly 0. Passes on other examples are left out.
    """

    def __init__(self):
        self.examples = None
        self.labels = None
        self.classes = None
        self.waiting = []

    def add(self, numpy, header, columns):
        """Add a pass; `header` and `columns` are those of the whole pass."""
        name = next((name for name in ("index", "digest") if name in columns), None)
        order = slice(None) if name is None else numpy.argsort(columns[name], kind="stable")
        kept = {each: columns[each][order] for each in ("target", "label", name) if each is not None}
        target, labels, classes = kept["target"], kept["label"].astype(numpy.int64), header["classes"]
        called = target.astype(numpy.int64) if classes is None else numpy.array(classes)[target]
        examples = (name, len(labels), crc_of(called), 0 if name is None else crc_of(kept[name]))
        if self.examples not in (None, examples):
            return
        if self.examples is not None:
            # Numbers of classes stand for other names where the names are others.
            is_difference = self.classes == classes
            kept = {"label": labels - self.labels if is_difference else labels}
            header = {each: header[each] for each in ("number", "iteration", "classes")}
            header["difference"] = is_difference
        self.examples, self.labels, self.classes = examples, labels, classes
        self.waiting.append((header, kept))


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


#: Callers that tell one evaluation from another.
MAX_FRAMES = 12

#: Of that many examples of a pass the digests are compared with those of the first pass; half must be among them.
SKETCH = 64

#: Points of the program that are looked at.
MAX_SITES = 32

#: Seconds after which what changed is written, whatever writing costs.
INTERVAL = 2.0

#: Share of the time that writing may take before: an epoch may be as short as a writing.
SHARE = 0.005

#: The slug of notes on evaluations that are not captured.
UNSEEN = "predictions-unseen"

#: Why nothing is kept where outputs vary.
VARIED = (
    "a model was called more than once on the same examples, without training in between, and returned other outputs "
    "(as with active dropout); the program measured none of these, so which of them counts is not known: its "
    "predictions are not captured; `--predictions FILE` takes them from a file that the program writes"
)

#: Failures after which nothing is captured any more.
FAILURES = 3


class Predictions:
    """What the models of one process predict where they are evaluated.

    Attributes
    ----------
    evaluating, training : bool
        The last call of a model was one of evaluation, or of training; neither before the first one.
    trained : int
        How often training went on after an evaluation.
    """

    def __init__(self, process):
        self.process = process
        kind, _, passes = process.config["predictions"].partition(":")
        self.keep_scores = kind == "scores"
        self.keep_every = passes == "every"
        #: None where representations are not kept.
        self.last_input = LastInput() if self.keep_scores else None
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
        self.trained = 0
        self.unseen = {}
        self.written_at = time.perf_counter()
        #: Seconds that the last writing took.
        self.writing = 0.0

    def adopt(self, config):
        """Begin in another run."""
        self.callers = Callers(config)
        self.forget()

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
        self.trained += 1
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
        if time.perf_counter() - self.written_at >= min(self.writing / SHARE, INTERVAL):
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
            is_settled = known.settle()
            columns, classes = columns_of(sys.modules["numpy"], known) if known.batches else (None, None)
            if columns is not None and self.counts(known, columns, is_settled):
                self.keep(known, columns, classes)
        except Exception as error:
            self.failed(error)
        known.point.passes += 1
        if time.perf_counter() - self.written_at >= INTERVAL:
            self.write()

    def counts(self, known, columns, is_settled):
        """Tell whether a pass is one whose outputs count; keep nothing of its point where that is not known."""
        is_varied = self.varies(known, columns) or known.point.is_varied
        if is_settled and (known.is_confirmed or not is_varied):
            return True
        known.point.withhold()
        self.miss("varied", VARIED)
        return False

    def varies(self, known, columns):
        """Tell whether the same model returned other outputs in the pass before, over the same examples."""
        model = known.batches[-1].model
        if model is None:
            return False
        content = crc_of(content_of(sys.modules["numpy"], columns))
        return known.point.varies((model, self.trained, known.iteration, content), columns)

    def keep(self, known, columns, classes):
        """Keep the columns of a pass until they are written."""
        numpy = sys.modules["numpy"]
        point = known.point
        content = content_of(numpy, columns)
        if not point.has_returned:
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
            "classes": classes,
        }
        if self.keep_every and "label" in columns and not self.process.rank:
            point.every = point.every or Every()
            point.every.add(numpy, header, columns)
        columns.update(known.features.columns(numpy, columns))
        columns.update(known.uncertain.columns(numpy, columns))
        if "index" in columns:
            columns.pop("digest", None)
        point.keep(Kept(header, columns), goodness)

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
        began = time.perf_counter()
        self.write_points()
        self.written_at = time.perf_counter()
        self.writing = self.written_at - began

    def write_points(self):
        """Write each point's passes that changed."""
        events = self.process.events
        for point in self.points.values():
            if point.every is not None and point.every.waiting:
                self.append(point)
            for kind, kept in (("last", point.last), ("best", point.best)):
                if kept.is_written if kept is not None else kind not in point.written:
                    continue
                path = self.path_of(point, kind)
                point.written ^= {kind} if (kind in point.written) == (kept is None) else set()
                try:
                    if kept is not None:
                        kept.is_written = True
                        if not kept.is_compact:
                            kept.columns = compact(sys.modules["numpy"], kept.columns, self.keep_scores)
                            kept.is_compact = True
                        write_pass(path, dict(kept.header, kept=kind), kept.columns)
                    else:
                        os.unlink(path)  # the last pass is the best one now
                except OSError as error:
                    events.note("predictions-unwritten", str(error), "predictions")

    def append(self, point):
        """Write the passes of a point that wait behind those that were written."""
        waiting, point.every.waiting = point.every.waiting, []
        numpy = sys.modules["numpy"]
        passes = [(dict(header, kept="every"), compact(numpy, columns, False)) for header, columns in waiting]
        try:
            append_passes(self.path_of(point, "every"), passes)
        except OSError as error:
            self.process.events.note("predictions-unwritten", str(error), "predictions")

    def path_of(self, point, kind):
        """Return the file of a pass of a point."""
        events = self.process.events
        if not events.begun:
            events.begin()
        return own_path(self.process.config["records"], "predictions-%d-%s" % (point.number, kind), events.stem, "bin")
