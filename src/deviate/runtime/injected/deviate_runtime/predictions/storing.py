"""Files of predictions: a line of JSON, then the columns, each compressed by zlib.

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

import json
import os
import sys
import zlib

from ..streams.examples import mixed
from .outputs import bytes_of_pictures, probabilities
from .passes import equal

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
