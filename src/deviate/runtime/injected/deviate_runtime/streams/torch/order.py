"""What loaders of PyTorch yield: the order of the data, and the content of the first batches."""

import array
import ctypes
import functools
import zlib

from ...factors import SHUFFLE
from ...patching import replaces
from ..fingerprints import FIRST, SAMPLES, Series

#: Bytes of each tensor of a batch that are read.
MAX_BYTES = 4 << 20

#: Batches are nested this deep at most.
MAX_DEPTH = 4


class Digest(Series):
    """A digest of content, and of how many parts."""

    def __init__(self, streams):
        self.streams = streams
        streams.fingerprints.content_sources.append(self)
        self.forget()

    def forget(self):
        """Begin anew."""
        Series.__init__(self)


class Order(Digest):
    """Digest of the indices that loaders with a drawn order yield, in their order.

    Of each epoch the first indices are read, then those at powers of two: reading costs a few microseconds.
    """

    def take(self, data):
        """Take the indices of a batch."""
        self.add(data)
        if self.count == 1:
            self.streams.fingerprints.at_end.append(functools.partial(self.write, "end"))
        if self.count == FIRST:
            self.write("first")

    def write(self, moment):
        """Write the digest."""
        self.streams.fingerprints.write_content("shuffle", self.digest, self.count, moment, self.series)


class Epoch:
    """The indices of one epoch.

    Attributes
    ----------
    is_training : bool
        False where no gradient is taken, as in an evaluation.
    updates : int or None
        How often weights had been updated when it began.
    sampler : str
        The class of what draws the order.
    drawn : int or None
        How often ``shuffle`` was seen to have drawn, of a sampler that may order without a draw.
    is_compared : bool
        Its order was compared. A loader with workers asks a sampler that has no more again, for each batch on its way.
    """

    __slots__ = ("order", "count", "digest", "drawn", "examples", "is_compared", "is_training", "sampler", "updates")

    def __init__(self, order, sampler, is_training, drawn):
        self.order = order
        self.count = self.digest = self.examples = 0
        self.is_training = is_training
        self.is_compared = False
        self.sampler = sampler
        self.drawn = drawn
        self.updates = order.streams.repeats.updates()

    def take(self, index):
        """Take the indices of a batch, or of one example."""
        count = self.count = self.count + 1
        if count <= SAMPLES or not count & (count - 1):
            data = bytes_of(index)
            self.digest = zlib.crc32(data, self.digest)
            self.examples += len(index) if isinstance(index, list) else 1
            self.order.take(data)

    def end(self, dataset, frame):
        """Compare the order with that of the pass before it over the same data set."""
        repeats, drawn = self.order.streams.repeats, self.order.streams.fingerprints.of(SHUFFLE).count
        if self.is_compared or drawn == self.drawn:
            return
        key = id(dataset), self.sampler, self.count
        repeats.attempt(repeats.passed, self, key, self.digest, self.examples, frame)


def bytes_of(index):
    """Return bytes that are equal for equal indices in equal order."""
    try:
        return array.array("q", index).tobytes()
    except (TypeError, OverflowError):
        return repr(index).encode("utf-8", "backslashreplace")


class Batches(Digest):
    """Digest of the content of the first batches."""

    def watch(self, cls):
        """Read batches until there were enough; then the loader is as it was."""
        plain = cls.__next__

        @replaces(cls, "__next__")
        def __next__(iterator):
            batch = plain(iterator)
            try:
                self.take(batch)
            except Exception as error:
                self.streams.process.events.note("batch-unread", repr(error), "batch")
                self.count = FIRST
            if self.count >= FIRST:
                cls.__next__ = plain
            return batch

    def take(self, batch):
        """Take the content of a batch into the digest; where a part cannot be read, none is written."""
        read = list(parts(batch, MAX_BYTES))
        if not read or None in read:
            self.count = FIRST
            return
        for part in read:
            self.digest = zlib.crc32(part, self.digest)
        self.count += 1
        if self.count == 1:
            self.streams.fingerprints.at_end.append(self.finish)
        if self.count == FIRST:
            self.streams.fingerprints.write_content("batches", self.digest, self.count, "first")

    def finish(self):
        """Write what there was, where it was not enough."""
        if self.count < FIRST:
            self.streams.fingerprints.write_content("batches", self.digest, self.count, "first")


def parts(value, most, depth=0):
    """Yield the bytes of the parts of a batch, at most `most` of each tensor, and None for what cannot be read.

    Tensors on a device are not copied.
    """
    if hasattr(value, "data_ptr") and hasattr(value, "element_size"):
        yield tensor_bytes(value, most)
    elif depth < MAX_DEPTH and hasattr(value, "items"):
        for key, inner in value.items():
            yield repr(key).encode("utf-8", "backslashreplace")
            yield from parts(inner, most, depth + 1)
    elif depth < MAX_DEPTH and isinstance(value, (list, tuple)):
        for inner in value:
            yield from parts(inner, most, depth + 1)
    elif hasattr(value, "tobytes") and hasattr(value, "dtype") and value.dtype != object:
        yield value.tobytes()[:most]
    elif value is None or isinstance(value, (str, bytes, int, float, bool)):
        yield repr(value).encode("utf-8", "backslashreplace")
    else:
        yield None


def tensor_bytes(tensor, most):
    """Return the first bytes of a tensor on the CPU, a mark of its kind for one elsewhere."""
    if tensor.device.type != "cpu" or str(tensor.layout) != "torch.strided":
        return repr((tensor.device.type, tuple(tensor.shape))).encode()
    tensor = tensor.detach().contiguous()
    size = min(tensor.numel() * tensor.element_size(), most)
    return ctypes.string_at(tensor.data_ptr(), size) if size else b""
