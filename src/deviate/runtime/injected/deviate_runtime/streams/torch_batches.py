"""What loaders of PyTorch yield: the order of the data, and the content of the first batches."""

import array
import ctypes
import functools
import zlib

from .fingerprints import FIRST, LOOKS

#: Bytes of a batch that are read.
MOST_BYTES = 4 << 20

#: Batches are nested this deep at most.
DEEPEST = 4


class Order:
    """Digest of the indices that loaders with a drawn order asked for, in their order.

    Of each epoch the first indices are read, then those at powers of two: reading costs a few microseconds.
    """

    def __init__(self, streams):
        self.streams = streams
        streams.fingerprints.shown_by.append(self)
        self.forget()

    def forget(self):
        """Begin anew."""
        self.digest = 0
        self.count = 0

    def begin(self):
        """Return what takes the indices of one epoch."""
        return Epoch(self)

    def take(self, index):
        """Take the indices of a batch."""
        self.digest = zlib.crc32(bytes_of(index), self.digest)
        self.count += 1
        if self.count == 1:
            self.streams.fingerprints.at_end.append(functools.partial(self.say, "end"))
        if self.count == FIRST:
            self.say("first")

    def say(self, moment):
        """Write the digest."""
        self.streams.fingerprints.content("shuffle", self.digest, self.count, moment)


class Epoch:
    """The indices of one epoch."""

    __slots__ = ("order", "count")

    def __init__(self, order):
        self.order = order
        self.count = 0

    def take(self, index):
        """Take the indices of a batch, or of one example."""
        count = self.count = self.count + 1
        if count <= LOOKS or not count & (count - 1):
            self.order.take(index)


def bytes_of(index):
    """Return bytes that are equal for equal indices in equal order."""
    try:
        return array.array("q", index).tobytes()
    except (TypeError, OverflowError):
        return repr(index).encode("utf-8", "backslashreplace")


class Batches:
    """Digest of the content of the first batches."""

    def __init__(self, streams):
        self.streams = streams
        streams.fingerprints.shown_by.append(self)
        self.forget()

    def forget(self):
        """Begin anew."""
        self.digest = 0
        self.count = 0

    def watch(self, cls):
        """Read batches until there were enough; then the loader is as it was."""
        plain = cls.__next__

        @functools.wraps(plain)
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

        cls.__next__ = __next__

    def take(self, batch):
        """Take the content of a batch into the digest."""
        for part in parts(batch, MOST_BYTES):
            self.digest = zlib.crc32(part, self.digest)
        self.count += 1
        moment = "first" if self.count == FIRST else None
        if self.count == 1:
            self.streams.fingerprints.at_end.append(self.finish)
        if moment:
            self.streams.fingerprints.content("batches", self.digest, self.count, moment)

    def finish(self):
        """Write what there was, where it was not enough."""
        if self.count < FIRST:
            self.streams.fingerprints.content("batches", self.digest, self.count, "first")


def parts(value, most, depth=0):
    """Yield the bytes of what a batch consists of, `most` of each tensor; what is not on the CPU stays there."""
    if hasattr(value, "data_ptr") and hasattr(value, "element_size"):
        yield tensor_bytes(value, most)
    elif depth < DEEPEST and hasattr(value, "items"):
        for key, inner in value.items():
            yield repr(key).encode("utf-8", "backslashreplace")
            for part in parts(inner, most, depth + 1):
                yield part
    elif depth < DEEPEST and isinstance(value, (list, tuple)):
        for inner in value:
            for part in parts(inner, most, depth + 1):
                yield part
    elif isinstance(value, (str, bytes, int, float, bool)):
        yield repr(value).encode("utf-8", "backslashreplace")


def tensor_bytes(tensor, most):
    """Return the first bytes of a tensor on the CPU, a mark of its kind for one elsewhere."""
    if tensor.device.type != "cpu" or str(tensor.layout) != "torch.strided":
        return repr((tensor.device.type, tuple(tensor.shape))).encode()
    tensor = tensor.detach().contiguous()
    size = min(tensor.numel() * tensor.element_size(), most)
    return ctypes.string_at(tensor.data_ptr(), size) if size else b""
