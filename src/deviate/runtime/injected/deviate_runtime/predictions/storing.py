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
"""

import json
import os
import zlib

from .columns import crc_of
from .outputs import bytes_of_pictures

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
