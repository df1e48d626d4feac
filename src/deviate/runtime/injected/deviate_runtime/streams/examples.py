"""The examples that a program trains and evaluates on, whatever drew them, as sketches free of their order.

A row (one example) becomes a number by its content. The smallest numbers of a set of rows are its sketch: equal sets
have equal sketches, in whichever order their rows come, and of two sketches follows what share of the sets is common
(bottom-k sketches; E. Cohen, "Size-estimation framework with applications to transitive closure and reachability",
J. Comput. Syst. Sci. 55, 1997).
"""

import ctypes
import functools
import sys
import weakref
import zlib

#: Numbers that a sketch keeps.
SIZE = 64

#: Columns of a row that are read; of more rows, fewer, so that about this many words of 4 bytes are read at most.
COLUMNS = 16
MAX_WORDS = 4 << 20

#: Rows that are read at most, and at a time.
MAX_ROWS = 20 << 20
CHUNK = 1 << 16

#: Of a list of examples at most so many are read, and data sets are nested this deep at most.
MAX_ITEMS = 100000
MAX_DEPTH = 4

#: Data sets that are read; a program that makes one for each batch has more.
DATASETS = 8


class Examples:
    """The sets of examples of one process, by part: the n-th data set, or what a model was called on.

    A set that is another one in the next pass is drawn anew for each: it is no data set, and no part.
    """

    def __init__(self, streams):
        self.streams = streams
        streams.fingerprints.content_sources.append(self)
        self.forget()

    def forget(self):
        """Begin anew."""
        self.parts = {}
        self.sets = []

    def add_dataset(self, dataset):
        """Take down what a data set holds as it is iterated over, the first and the second time."""
        self.add_set(dataset, lambda: dataset_hashes(dataset))

    def add_arrays(self, value):
        """Take down what a nest of arrays holds that are given to a training together: features and labels."""
        try:
            arrays = list(arrays_in(value))
        except Exception as error:
            self.streams.process.events.note("examples-unread", repr(error), "arrays")
            return
        if arrays:
            self.add_set(arrays[0], lambda: joined_hashes([row_hashes(array) for array in arrays]), anew=True)

    def add_set(self, owner, read, anew=False):
        """Take down a set of examples, or compare it with what it was; `anew`: each pass may make it anew."""
        try:
            known = self.find(owner, anew)
            if known is None:
                if len(self.sets) < DATASETS and self.streams.process.iteration < 1:
                    self.sets.append(Set(owner, sketch_of(read()), "data set %d" % (len(self.sets) + 1)))
                    self.write_set(self.sets[-1])
            elif known.is_due(owner) and known.part in self.parts and sketch_of(read()) != known.sketch:
                del self.parts[known.part]
                self.write()
        except Exception as error:
            self.streams.process.events.note("examples-unread", repr(error), "data set")

    def find(self, owner, anew=False):
        """Return the set that `owner` is, or, `anew` or once the main loop goes on, one of its kind before it."""
        known = next((each for each in self.sets if each.is_of(owner)), None)
        if known is None and (anew or self.streams.process.iteration >= 1):
            known = next((each for each in self.sets if each.kind == kind_of(owner)), None)
        return known

    def write_set(self, new):
        """Write a set that was read, with those before it."""
        if new.sketch:
            self.add(new.part, new.sketch)

    def add(self, part, sketch):
        """Write the sketch of a set, with those before it."""
        self.parts[part] = sketch
        self.write()

    def write(self):
        """Write all sketches."""
        digest = zlib.crc32(repr(sorted(self.parts.items())).encode())
        parts = {part: ["%016x" % number for number in sketch] for part, sketch in self.parts.items()}
        self.streams.fingerprints.write_content("examples", digest, len(parts), "first", parts=parts)


class Set:
    """A set of examples as it was first read."""

    __slots__ = ("kind", "others", "owner", "part", "passes", "sketch")

    def __init__(self, owner, sketch, part):
        self.owner = reference_to(owner)
        self.kind = kind_of(owner)
        self.sketch = sketch
        self.part = part
        self.passes = 1
        #: Sets in its place that it was compared with.
        self.others = 0

    def is_due(self, owner):
        """Return whether what `owner` holds now is to be compared with this: in its second pass, and of few others.

        Rollouts, for instance, are passed over several times before others take their place.
        """
        if self.is_of(owner):
            self.passes += 1
            return self.passes == 2
        self.others += 1
        return self.others <= 2

    def is_of(self, owner):
        """Return whether this set is what `owner` held; the address of one that has gone may be another's by now."""
        return self.owner() is owner


def reference_to(owner):
    """Return a function that returns a data set while it lives; it keeps lists alive, and nothing else."""
    try:
        return weakref.ref(owner)
    except TypeError:  # a list or a tuple, which a weak reference cannot be made to
        return lambda: owner


def kind_of(owner):
    """Return what a set that is made anew has in common with the one before it."""
    return type(owner), len_of(owner)


def sketch_of(hashes):
    """Return the sketch of rows by their numbers; empty where they are not known."""
    numpy = sys.modules.get("numpy")
    return [] if hashes is None else numpy.unique(hashes)[:SIZE].tolist()


# Rows


def row_hashes(array):
    """Return a number for each row of an array; None where its rows are no plain numbers, or there are too many."""
    numpy = sys.modules["numpy"]
    if array.ndim == 0 or array.dtype.kind not in "biufcSU" or not 0 < len(array) <= MAX_ROWS:
        return None
    rows = array.reshape(len(array), -1) if array.ndim != 1 else array[:, None]
    most = max(4, min(COLUMNS, MAX_WORDS // len(rows)))
    if rows.shape[1] > most:
        rows = rows[:, chosen_columns(rows.shape[1], most)]
    chunks = [hash_words(numpy, words_of(numpy, rows[i : i + CHUNK])) for i in range(0, len(rows), CHUNK)]
    return chunks[0] if len(chunks) == 1 else numpy.concatenate(chunks)


@functools.lru_cache(maxsize=64)
def chosen_columns(width, most):
    """Return some columns that lie apart."""
    # Steps of the golden ratio make no grid: those of a grid may all lie on the empty border of images.
    return sys.modules["numpy"].unique([int((index * 0.6180339887498949 % 1) * width) for index in range(most)])


def words_of(numpy, rows):
    """Return rows as words of 8 bytes."""
    rows = numpy.ascontiguousarray(rows)
    size = rows.dtype.itemsize * rows.shape[1]
    kind = numpy.uint32 if not size % 4 else numpy.uint8
    return rows.view(kind).reshape(len(rows), -1).astype(numpy.uint64)


def hash_words(numpy, words):
    """Return a number of 64 bits for each row of words: a sum of them, each with a factor of its column, mixed."""
    return mixed(numpy, (words * column_factors(words.shape[1])).sum(axis=1, dtype=numpy.uint64))


@functools.lru_cache(maxsize=64)
def column_factors(width):
    """Return an odd factor of 64 bits for each column."""
    numpy = sys.modules["numpy"]
    return mixed(numpy, numpy.arange(1, width + 1, dtype=numpy.uint64)) | numpy.uint64(1)


def mixed(numpy, words):
    """Return words with all their bits mixed (the finalizer of MurmurHash3, in the public domain)."""
    words = words ^ (words >> numpy.uint64(33))
    words = words * numpy.uint64(0xFF51AFD7ED558CCD)
    words = words ^ (words >> numpy.uint64(33))
    words = words * numpy.uint64(0xC4CEB9FE1A85EC53)
    return words ^ (words >> numpy.uint64(33))


# Arrays and tensors


def as_array(value):
    """Return a NumPy array of the same memory; None where `value` is no array, or not in this machine's memory."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is None:
        return None
    if type(value) is numpy.ndarray:
        return value
    # A subclass of tensors may stand for something else than its memory; what has a gradient to pass on was computed.
    if torch is not None and type(value) is getattr(torch, "Tensor", None) and value.grad_fn is None:
        return array_of_tensor(numpy, value)
    return None


@functools.lru_cache(maxsize=64)
def dtype_of(torch_dtype):
    """Return the type of NumPy's with the same bits; None where it has none."""
    name = str(torch_dtype).partition(".")[2]
    try:
        return sys.modules["numpy"].dtype({"bfloat16": "uint16"}.get(name, name))
    except TypeError:
        return None


def array_of_tensor(numpy, tensor):
    """Return an array of the memory of a tensor on the CPU, made without an operation of torch's."""
    dtype, shape = dtype_of(tensor.dtype), tuple(tensor.shape)
    if dtype is None or tensor.device.type != "cpu" or str(tensor.layout) != "torch.strided":
        return None
    if not tensor.numel():
        return numpy.empty(shape, dtype)
    strides = tensor.stride()
    size = dtype.itemsize * (1 + sum((length - 1) * stride for length, stride in zip(shape, strides)))  # noqa: B905
    buffer = (ctypes.c_char * size).from_address(tensor.data_ptr())
    return numpy.ndarray(shape, dtype, buffer, strides=[dtype.itemsize * stride for stride in strides])


def arrays_in(value, depth=0):
    """Yield the arrays in a nest of dictionaries, lists and tuples."""
    array = as_array(value)
    if array is not None:
        yield array
    elif depth < 3 and type(value) is dict:
        for inner in value.values():
            yield from arrays_in(inner, depth + 1)
    elif depth < 3 and type(value) in (list, tuple):
        for inner in value:
            yield from arrays_in(inner, depth + 1)


# Data sets


def dataset_hashes(dataset, depth=0):
    """Return a number for each example that a data set holds; None where it holds none that can be read."""
    if depth > MAX_DEPTH:
        return None
    if isinstance(dataset, (list, tuple)):
        return item_hashes(dataset)
    array = as_array(dataset)
    if array is not None:
        return row_hashes(array)
    held = getattr(dataset, "__dict__", {})
    if "indices" in held and "dataset" in held:
        return subset_hashes(held["dataset"], held["indices"], depth)
    if isinstance(held.get("tensors"), (list, tuple)):
        return joined_hashes([column_hashes(tensor) for tensor in held["tensors"]])
    if isinstance(held.get("datasets"), (list, tuple)):
        return chained_hashes([dataset_hashes(each, depth + 1) for each in held["datasets"]])
    length = len_of(dataset)
    return held_hashes(held, length) if length > 0 else None


def subset_hashes(dataset, indices, depth):
    """Return the numbers of the examples that a subset has."""
    numpy = sys.modules.get("numpy")
    hashes = dataset_hashes(dataset, depth + 1)
    return None if hashes is None else hashes[numpy.asarray(indices, dtype=numpy.int64)]


def held_hashes(held, length):
    """Return the numbers of the examples in a data set that holds their parts: features and labels, for instance.

    What is longer than the data set holds windows, or the measurements of a time series; it counts where nothing has
    the data set's own length.
    """
    named = [value for name, value in sorted(held.items()) if hasattr(value, "__len__") and not isinstance(value, dict)]
    equal = [value for value in named if len_of(value) == length]
    if equal:
        return joined_hashes([column_hashes(value) for value in equal])
    longer = [column_hashes(value) for value in named if len_of(value) > length]
    return chained_hashes(longer)


def len_of(value):
    """Return the length of a value, -1 where it has none: an array without dimensions."""
    try:
        return len(value)
    except TypeError:
        return -1


def column_hashes(value):
    """Return a number for each row of an array, a list or a table of pandas."""
    pandas = sys.modules.get("pandas")
    array = as_array(value)
    if array is not None:
        return row_hashes(array)
    if isinstance(value, (list, tuple)):
        return item_hashes(value)
    if pandas is not None and isinstance(value, (pandas.DataFrame, pandas.Series)):
        try:
            return pandas.util.hash_pandas_object(value, index=False).to_numpy()
        except TypeError:
            return None  # its cells are lists or other objects
    return None


def item_hashes(items):
    """Return a number for each item of a list; None where one of them is of another kind than numbers and arrays."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not 0 < len(items) <= MAX_ITEMS:
        return None
    digests = [item_digest(item) for item in items]
    if None in digests:
        return None
    return mixed(numpy, numpy.array(digests, dtype=numpy.uint64))


def item_digest(item, digest=0, depth=0):
    """Return a digest of text, a number, an array, or a nest of them; None for anything else."""
    if isinstance(item, (str, bytes, int, float, bool, type(None))):
        return zlib.crc32(repr(item).encode("utf-8", "backslashreplace"), digest)
    if isinstance(item, dict):
        item = sorted(item.items(), key=repr)
    if isinstance(item, (list, tuple)) and depth < MAX_DEPTH:
        for inner in item:
            digest = item_digest(inner, digest, depth + 1)
            if digest is None:
                return None
        return zlib.crc32(b"%d" % len(item), digest)
    numpy = sys.modules.get("numpy")
    if isinstance(item, numpy.generic):
        return zlib.crc32(item.tobytes(), digest)
    array = as_array(item)
    if array is None or array.dtype.kind not in "biufcSU":
        return None
    return zlib.crc32(numpy.ascontiguousarray(array).tobytes(), digest)


def joined_hashes(columns):
    """Return one number for each example, from its number in each column; columns that cannot be read are left out."""
    numpy = sys.modules.get("numpy")
    known = [column for column in columns if column is not None]
    if not known:
        return None
    joined = known[0]
    for column in known[1:]:
        joined = mixed(numpy, joined * numpy.uint64(3) + column)
    return joined


def chained_hashes(sets):
    """Return the numbers of all examples of several sets; None where none can be read."""
    numpy = sys.modules.get("numpy")
    known = [hashes for hashes in sets if hashes is not None]
    return numpy.concatenate(known) if known else None
