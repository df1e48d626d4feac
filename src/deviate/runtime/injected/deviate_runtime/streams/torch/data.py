"""Data loaders of PyTorch: samplers draw for ``shuffle``, fetches and workers for ``augment``, splits for ``data``.

What loaders of PyTorch yield: the order of the data, and the content of the first batches.
"""

import array
import ctypes
import functools
import itertools
import sys
import zlib

from ...factors import AUGMENT, DATA, SHUFFLE
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


def patch_data(data, streams):
    """Have what loads data draw for its factors, and take the order of the data."""
    if hasattr(data.random_split, "_deviate"):
        return
    wrap_split(data, streams)
    wrap_samplers(data, streams)
    wrap_loader(data, streams)
    wrap_fetch(data, streams)
    wrap_worker(data, streams)
    Batches(streams).watch(data.dataloader._BaseDataLoaderIter)


def wrap_split(data, streams):
    """Have a split of a data set draw for ``data``."""
    data.random_split = data.dataset.random_split = streams.within(DATA, data.dataset.random_split)


# Samplers


def wrap_samplers(data, streams):
    """Have samplers that the program iterates over itself draw for ``shuffle``; in a loader, all of them do."""
    for name in ("RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler"):
        cls = getattr(data, name, None)
        if cls is not None:
            wrap_sampler(cls, streams)


def wrap_sampler(cls, streams):
    """Have a sampler of torch's draw for ``shuffle`` wherever it is iterated over."""
    plain = cls.__iter__

    @replaces(cls, "__iter__")
    def __iter__(self):
        items = plain(self)
        # With a generator of the program's, torch draws one more order as the items end, and takes nothing from it.
        ends_drawing = type(self).__name__ == "RandomSampler" and self.generator is not None
        if streams.current == SHUFFLE and not ends_drawing:
            return items
        return ordered(streams, items, len(self) - 1 if draws_once(self) else 0)


def ordered(streams, items, undrawn):
    """Yield `items`, each drawn for ``shuffle``, as their end is, but for so many that come after the first."""
    following = streams.within(SHUFFLE, functools.partial(next, items))
    try:
        yield following()
        # not "yield from": a sampler is closed with its iterator, not before
        for item in itertools.islice(items, undrawn):
            yield item
        while True:
            yield following()
    except StopIteration:
        return


def draws_once(sampler):
    """Tell whether a sampler draws for its first item only."""
    if type(sampler).__name__ != "RandomSampler":
        return type(sampler).__module__ == "torch.utils.data.sampler"
    return sampler.generator is None or not (sampler.replacement or sampler.num_samples > len(sampler.data_source))


# Loaders


def wrap_loader(data, streams):
    """Have iterators of loaders draw the workers' seed for ``augment`` and indices for ``shuffle``."""
    cls = data.dataloader._BaseDataLoaderIter
    plain_init, plain_next_index = cls.__init__, cls._next_index
    orders = Orders(data, streams)

    @replaces(cls, "__init__")
    def __init__(self, loader):
        orders.wrap_sampler(getattr(loader, "_index_sampler", None))
        before = streams.enter(AUGMENT)
        try:
            plain_init(self, loader)
            # Every loader draws a seed for workers, also one that has none and whose data set draws nothing.
            drawn = drawn_from(streams, loader.generator)
            streams.fingerprints.rebase(drawn)
            streams.loader_seeded = drawn[0].seeded if drawn else None
        finally:
            streams.leave(before)
        streams.examples.add_dataset(loader.dataset)
        self._deviate_order = orders.of(self)

    @replaces(cls, "_next_index")
    def _next_index(self):
        order = self.__dict__.get("_deviate_order")
        if order is None:
            return plain_next_index(self)
        try:
            if order.is_drawn:
                index = plain_next_index(self)
            else:
                index = streams.call(SHUFFLE, plain_next_index, self)
                order.is_drawn = order.once
        except StopIteration:
            order.epoch.end(self._dataset, sys._getframe(1))
            raise
        order.epoch.take(index)
        return index

    for subclass in (cls, *cls.__subclasses__()):
        if "_reset" in vars(subclass):
            wrap_reset(subclass, streams, orders)


def drawn_from(streams, generator):
    """Return what switches the generator of a loader: one of the program's, or torch's own."""
    if generator is not None:
        made = streams.made.get(id(generator))
        return [] if made is None else [made]
    return [known for known in streams.generators if known.name == "torch"]


def wrap_reset(cls, streams, orders):
    """Begin an epoch: with workers, the first indices are drawn at once."""
    plain = cls._reset

    @replaces(cls, "_reset")
    def _reset(self, *args, **kwargs):
        self._deviate_order = orders.of(self)
        return streams.call(AUGMENT, plain, self, *args, **kwargs)


class IndexOrder:
    """How one iterator of a loader draws its indices.

    Attributes
    ----------
    once : bool
        Only the first index makes a draw.
    is_drawn : bool
        No further index makes one.
    """

    __slots__ = ("once", "is_drawn", "epoch")

    def __init__(self, once, epoch):
        self.once = once
        self.is_drawn = False
        self.epoch = epoch


class Orders:
    """Finds the order of an iterator by the sampler of its loader."""

    def __init__(self, data, streams):
        self.data = data
        self.streams = streams
        self.order = Order(streams)
        self.wrapped = set()

    def wrap_sampler(self, sampler):
        """Have a sampler of the program's begin its iteration for ``shuffle``: it may draw all of it at once."""
        cls = type(sampler)
        if cls in self.wrapped or cls.__module__.startswith(("torch.", "builtins")):
            return
        self.wrapped.add(cls)
        try:
            cls.__iter__ = self.streams.within(SHUFFLE, cls.__iter__)
        except (AttributeError, TypeError):
            return

    def is_programs(self, cls):
        """Tell whether a class is of the program, which may order data without a draw."""
        file = getattr(sys.modules.get(cls.__module__), "__file__", None)
        return file is not None and self.streams.callers.is_program_file(file, cls.__module__)

    def of(self, iterator):
        """Return the order of `iterator`, None where none is drawn."""
        sampler = iterator._index_sampler
        if type(sampler) is self.data.BatchSampler:
            sampler = sampler.sampler
        name = type(sampler).__name__
        if type(sampler) is self.data.SequentialSampler or isinstance(sampler, (range, list, tuple)):
            return None
        if name == "_InfiniteConstantSampler" or (name == "DistributedSampler" and not sampler.shuffle):
            return None
        is_torchs = type(sampler).__module__.startswith("torch.")
        drawn = self.streams.fingerprints.of(SHUFFLE)
        if not self.is_programs(type(sampler)):
            drawn.unseen = True
        is_training = sys.modules["torch"].is_grad_enabled()
        epoch = Epoch(self.order, name, is_training, None if is_torchs else drawn.count)
        return IndexOrder(is_torchs and draws_once(sampler), epoch)


# Fetches


def wrap_fetch(data, streams):
    """Have fetches draw for ``augment``; data sets of tensors that are there already are no draw."""
    fetchers = data._utils.fetch
    for cls in (fetchers._MapDatasetFetcher, fetchers._IterableDatasetFetcher):
        wrap_fetcher(data, cls, streams)


def wrap_fetcher(data, cls, streams):
    """Wrap the two methods that touch the data set."""
    plain_init, plain = cls.__init__, cls.fetch

    @replaces(cls, "__init__")
    def __init__(self, *args, **kwargs):
        streams.call(AUGMENT, plain_init, self, *args, **kwargs)
        self._deviate_plain = draws_nothing(data, self)

    @replaces(cls, "fetch")
    def fetch(self, possibly_batched_index):
        if getattr(self, "_deviate_plain", False):
            return plain(self, possibly_batched_index)
        before = streams.enter(AUGMENT)
        try:
            return plain(self, possibly_batched_index)
        finally:
            if before == AUGMENT:
                # In a worker nothing else draws, so no switch takes a sample.
                streams.fingerprints.sample(AUGMENT)
            streams.leave(before)


def draws_nothing(data, fetcher):
    """Tell whether a fetch is torch's own indexing and collating of tensors."""
    if fetcher.collate_fn is not data._utils.collate.default_collate:
        return False
    dataset = fetcher.dataset
    while type(dataset) is data.Subset:
        dataset = dataset.dataset
    return type(dataset) in (data.TensorDataset, list, tuple, range)


# Workers


def wrap_worker(data, streams):
    """Have all of a worker draw for ``augment``."""
    worker = data._utils.worker
    plain = worker._worker_loop

    @replaces(worker, "_worker_loop")
    def _worker_loop(*args, **kwargs):
        streams.enter(AUGMENT)
        streams.worker_seeded = streams.loader_seeded
        return plain(*args, **kwargs)
