"""Data loaders of PyTorch: samplers draw for ``shuffle``, fetches and workers for ``augment``, splits for ``data``."""

import functools

from .torch_batches import Batches, Order

AUGMENT = "augment"
DATA = "data"
SHUFFLE = "shuffle"


def attend(data, streams):
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

    @functools.wraps(plain)
    def __iter__(self):
        items = plain(self)
        return items if streams.current == SHUFFLE else ordered(streams, items, draws_once(self))

    cls.__iter__ = __iter__


def ordered(streams, items, once):
    """Yield `items`, each or only the first of them drawn for ``shuffle``."""
    following = streams.within(SHUFFLE, functools.partial(next, items))
    try:
        yield following()
        if once:
            # not "yield from": a sampler is closed with its iterator, not before
            for item in items:
                yield item
        else:
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
    ways = Ways(data, streams)

    @functools.wraps(plain_init)
    def __init__(self, loader):
        ways.attend(getattr(loader, "_index_sampler", None))
        before = streams.enter(AUGMENT)
        try:
            plain_init(self, loader)
            # Every loader draws a seed for workers, also one that has none and whose data set draws nothing.
            streams.fingerprints.overlook(drawn_from(streams, loader.generator))
        finally:
            streams.leave(before)
        self._deviate_way = ways.of(self)

    @functools.wraps(plain_next_index)
    def _next_index(self):
        way = self.__dict__.get("_deviate_way")
        if way is None:
            return plain_next_index(self)
        if way.is_drawn:
            index = plain_next_index(self)
        else:
            before = streams.enter(SHUFFLE)
            try:
                index = plain_next_index(self)
            finally:
                streams.leave(before)
            way.is_drawn = way.once
        way.order.take(index)
        return index

    cls.__init__, cls._next_index = __init__, _next_index
    for subclass in (cls, *cls.__subclasses__()):
        if "_reset" in vars(subclass):
            wrap_reset(subclass, streams, ways)


def drawn_from(streams, generator):
    """Return what switches the generator of a loader: one of the program's, or torch's own."""
    if generator is not None:
        made = streams.made.get(id(generator))
        return [] if made is None else [made]
    return [found for found in streams.generators if found.name == "torch"]


def wrap_reset(cls, streams, ways):
    """Begin an epoch: with workers, the first indices are asked for at once."""
    plain = cls._reset

    @functools.wraps(plain)
    def _reset(self, *args, **kwargs):
        before = streams.enter(AUGMENT)
        try:
            self._deviate_way = ways.of(self)
            return plain(self, *args, **kwargs)
        finally:
            streams.leave(before)

    cls._reset = _reset


class Way:
    """How one iterator of a loader comes to its indices.

    Attributes
    ----------
    once : bool
        Only the first index makes a draw.
    is_drawn : bool
        No further index makes one.
    """

    __slots__ = ("once", "is_drawn", "order")

    def __init__(self, once, order):
        self.once = once
        self.is_drawn = False
        self.order = order


class Ways:
    """Finds the way of an iterator by the sampler of its loader."""

    def __init__(self, data, streams):
        self.data = data
        self.streams = streams
        self.order = Order(streams)
        self.wrapped = set()

    def attend(self, sampler):
        """Have a sampler of the program's begin its iteration for ``shuffle``: it may draw all of it at once."""
        cls = type(sampler)
        if cls in self.wrapped or cls.__module__.startswith(("torch.", "builtins")):
            return
        self.wrapped.add(cls)
        try:
            cls.__iter__ = self.streams.within(SHUFFLE, cls.__iter__)
        except (AttributeError, TypeError):
            return

    def of(self, iterator):
        """Return the way of `iterator`, None where no order is drawn."""
        sampler = iterator._index_sampler
        if type(sampler) is self.data.BatchSampler:
            sampler = sampler.sampler
        if type(sampler) is self.data.SequentialSampler or type(sampler).__name__ == "_InfiniteConstantSampler":
            return None
        if type(sampler).__name__ == "DistributedSampler" and not sampler.shuffle:
            return None
        if isinstance(sampler, (range, list, tuple)):
            return None
        is_torchs = type(sampler).__module__.startswith("torch.")
        return Way(is_torchs and draws_once(sampler), self.order.begin())


# Fetches


def wrap_fetch(data, streams):
    """Have fetches draw for ``augment``; data sets of tensors that are there already are no draw."""
    fetchers = data._utils.fetch
    for cls in (fetchers._MapDatasetFetcher, fetchers._IterableDatasetFetcher):
        wrap_fetcher(data, cls, streams)


def wrap_fetcher(data, cls, streams):
    """Wrap the two methods that touch the data set."""
    plain_init, plain = cls.__init__, cls.fetch

    @functools.wraps(plain_init)
    def __init__(self, *args, **kwargs):
        before = streams.enter(AUGMENT)
        try:
            plain_init(self, *args, **kwargs)
        finally:
            streams.leave(before)
        self._deviate_plain = draws_nothing(data, self)

    @functools.wraps(plain)
    def fetch(self, possibly_batched_index):
        if getattr(self, "_deviate_plain", False):
            return plain(self, possibly_batched_index)
        before = streams.enter(AUGMENT)
        try:
            return plain(self, possibly_batched_index)
        finally:
            if before == AUGMENT:
                # In a worker nothing else draws, so nothing is switched where looks are taken.
                streams.fingerprints.look(AUGMENT)
            streams.leave(before)

    cls.__init__, cls.fetch = __init__, fetch


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

    @functools.wraps(plain)
    def _worker_loop(*args, **kwargs):
        streams.enter(AUGMENT)
        return plain(*args, **kwargs)

    worker._worker_loop = _worker_loop
