"""Hold still, or turn round, what no generator decides: in trial runs that look for the cause of a difference.

Nothing of it is done in a run that is measured. ``DEVIATE_FIXED`` names, with commas, what is fixed:

``clock``           the time goes on by a millisecond each time it is read
``entropy``         what the system makes up is the same in every process
``files``           files are listed by name; ``files-reversed``: the other way round
``threads``         threads run one after another, and are waited for in the order they were started
``memory``          arrays that are not filled hold zeros; ``memory-filled``: another number
``workers``         PyTorch's loaders have no worker processes
"""

import functools
import itertools
import os
import sys
import time

from .streams.seeds import mix

VARIABLE = "DEVIATE_FIXED"

#: Seconds since 1970 at which the clock begins, and those that pass between two looks.
BEGINNING, STEP = 1700000000, 0.001

#: Seconds that one thread is waited for; one that waits for others goes on beside them.
PATIENCE = 0.3

#: What is in arrays that are not filled, by what is fixed.
FILLED = {"memory": 0, "memory-filled": 77}


def fixed():
    """Return what is fixed in this process."""
    return [name for name in os.environ.get(VARIABLE, "").split(",") if name]


def fix(process):
    """Fix what needs no library; the rest is done as libraries are imported, see `hooks`."""
    for name in fixed():
        try:
            if name == "clock":
                fix_clock()
            elif name == "entropy":
                fix_entropy()
            elif name.startswith("files"):
                fix_files(reverse=name == "files-reversed")
            elif name == "threads":
                fix_threads()
        except Exception as error:
            process.events.note("not-fixed", "%s: %r" % (name, error), name)


def hooks():
    """Yield the modules after whose import something is done, each with the function that does it."""
    names = fixed()
    if any(name in FILLED for name in names):
        yield "numpy", "fixing:fill_numpy"
        yield "torch", "fixing:fill_torch"
    if "workers" in names:
        yield "torch.utils.data.dataloader", "fixing:load_alone"
    if "threads" in names:
        yield "concurrent.futures._base", "fixing:wait_in_order"
        yield "concurrent.futures.thread", "fixing:work_at_once"
        yield "multiprocessing.pool", "fixing:yield_in_order"


# The clock


def fix_clock():
    """Let each look at the time be a step later than the one before."""
    steps = itertools.count(1)

    def seconds():
        return BEGINNING + STEP * next(steps)

    def nanoseconds():
        return BEGINNING * 10**9 + int(STEP * 10**9) * next(steps)

    # Not `monotonic`, by which the interpreter itself waits.
    time.time = time.perf_counter = time.process_time = seconds
    time.time_ns = time.perf_counter_ns = nanoseconds
    fix_dates()


def fix_dates():
    """Have dates read that clock: in the type of C itself, as libraries of C are made for it and no other."""
    import ctypes
    import datetime
    import gc

    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)

    def utcnow(cls):
        return cls.fromtimestamp(time.time(), datetime.timezone.utc).replace(tzinfo=None)

    (methods,) = gc.get_referents(vars(datetime.datetime))
    methods.update(now=classmethod(now), utcnow=classmethod(utcnow), today=classmethod(lambda cls: cls.now()))
    # Python keeps which method a name of a type stands for.
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime.datetime))


# What the system makes up


def fix_entropy():
    """Let the system's random bytes be those of a stream that is the same in every process."""
    numbers = itertools.count()

    def urandom(size):
        parts = (mix("entropy", next(numbers)).to_bytes(4, "little") for _ in range(-(-size // 4)))
        return b"".join(parts)[:size]

    os.urandom = urandom
    random = sys.modules.get("random")
    if random is None:
        import random
    random._urandom = os.urandom


# Files


def fix_files(reverse):
    """List files by name."""
    plain_list, plain_scan = os.listdir, os.scandir

    def listdir(*args, **kwargs):
        return sorted(plain_list(*args, **kwargs), reverse=reverse)

    def scandir(*args, **kwargs):
        with plain_scan(*args, **kwargs) as entries:
            return Listing(sorted(entries, key=lambda entry: entry.name, reverse=reverse))

    # As those of C, they are no methods where a class has them among its attributes.
    os.listdir, os.scandir = functools.partial(listdir), functools.partial(scandir)


class Listing:
    """What stands for the iterator that `os.scandir` returns."""

    def __init__(self, entries):
        self.entries = iter(entries)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.entries)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        """Yield no more."""
        self.entries = iter(())


# Threads


def fix_threads():
    """Let a thread that was started run before the program goes on."""
    import threading

    sys.setswitchinterval(1000.0)
    plain = threading.Thread.start

    def start(self):
        plain(self)
        self.join(PATIENCE)

    threading.Thread.start = start


def work_at_once(module, process):
    """Have pools of threads do what they are given at once."""

    def submit(self, fn, *args, **kwargs):
        future = module._base.Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future

    module.ThreadPoolExecutor.submit = submit


def wait_in_order(module, process):
    """Have what was submitted waited for in the order it is given in."""

    def as_completed(fs, timeout=None):
        for future in list(fs):
            module.wait([future], timeout)
            yield future

    module.as_completed = as_completed
    package = sys.modules.get("concurrent.futures")
    if hasattr(package, "as_completed"):
        package.as_completed = as_completed


def yield_in_order(module, process):
    """Have pools yield results in the order of their tasks."""
    module.Pool.imap_unordered = module.Pool.imap


# Workers


def load_alone(module, process):
    """Have loaders load in the process of the training."""
    import inspect

    plain = module.DataLoader.__init__
    signature = inspect.signature(plain)

    @functools.wraps(plain)
    def init(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.arguments["num_workers"] = 0
        for name in ("prefetch_factor", "persistent_workers", "timeout", "multiprocessing_context"):
            given.arguments.pop(name, None)
        plain(*given.args, **given.kwargs)

    module.DataLoader.__init__ = init


# Memory


def fill_numpy(module, process):
    """Fill arrays of NumPy that would hold what was in the memory."""
    value = filling()
    for name in ("empty", "empty_like"):
        plain = getattr(module, name)
        setattr(module, name, filled(plain, lambda array: array.dtype.hasobject or array.fill(value)))


def fill_torch(module, process):
    """Fill tensors that would hold what was in the memory."""
    value = filling()

    def fill(tensor):
        with module.no_grad():
            tensor.fill_(value)

    for name in ("empty", "empty_like", "empty_strided"):
        setattr(module, name, filled(getattr(module, name), fill))
    module.Tensor.new_empty = filled(module.Tensor.new_empty, fill)
    # By sizes, these make what they do not fill: `torch.Tensor(3, 4)`, `torch.FloatTensor(64)`, `x.new(2)`.
    module.Tensor.new = filled(module.Tensor.new, fill, by_sizes)
    make = module.Tensor.__new__
    module.Tensor.__new__ = filled(make, lambda made: type(made) is module.Tensor and fill(made), by_sizes)
    for name in LEGACY:
        setattr(module, name, legacy_type(getattr(module, name), fill))


#: Types of tensors of old programs.
LEGACY = ("FloatTensor", "DoubleTensor", "HalfTensor", "LongTensor", "IntTensor", "ByteTensor")


def by_sizes(owner, *args, **kwargs):
    """Tell whether a constructor is given sizes, and no data."""
    return bool(args) and all(isinstance(size, int) or type(size).__name__ == "Size" for size in args)


def legacy_type(plain, fill):
    """Return what stands for a type of tensors, and fills what it makes by sizes."""

    class Meta(type):
        """Makes tensors of that type, and knows them."""

        def __call__(cls, *args, **kwargs):
            made = plain(*args, **kwargs)
            if by_sizes(cls, *args):
                fill(made)
            return made

        def __instancecheck__(cls, instance):
            return isinstance(instance, plain)

        def __getattr__(cls, name):
            return getattr(plain, name)

        def __str__(cls):
            return cls.__name__

    # By this name `Tensor.type` takes it for the type itself.
    return Meta("torch." + plain.__name__, (), {})


def filling():
    """Return the number that arrays are filled with."""
    return next(FILLED[name] for name in fixed() if name in FILLED)


def filled(plain, fill, is_empty=None):
    """Return a function that makes an array and fills it, if `is_empty` says so of the arguments."""

    def make(*args, **kwargs):
        array = plain(*args, **kwargs)
        try:
            if is_empty is None or is_empty(*args, **kwargs):
                fill(array)
        except Exception:
            return array  # of a kind that takes no number
        return array

    return make
