"""Child processes and threads of the program: draws in them come from streams of their own.

Threads take turns as the system likes. What several of them draw from one generator differs from run to run, and so
does what a thread draws while the program's first one switches that generator. So a draw in the program's files, in
another thread than the first, is made by a generator of that thread: seeded by the factor, by what the program seeded
the shared one with, and by which thread it is. A task of a pool counts as a thread, since any of the pool's may take
it. Threads that a library of C++ starts, as TensorFlow does, count as one.
"""

import functools
import sys
import threading

from ..factors import OTHER
from ..patching import replaces
from .seeds import mix


def patch_process(module, streams):
    """Identify the children of `multiprocessing` by their number, which is the same in every run."""
    plain = module.BaseProcess._bootstrap
    if hasattr(plain, "__wrapped__"):
        return

    @replaces(module.BaseProcess, "_bootstrap")
    def _bootstrap(self, *args, **kwargs):
        begin(self, streams)
        try:
            return plain(self, *args, **kwargs)
        finally:
            end(streams)


def begin(child, streams):
    """Give a child draws of its own; what it inherited by a fork it goes on with, as without Deviate."""
    try:
        streams.enter_child(*child._identity)
        if streams.controls:
            for generator in streams.generators:
                generator.restart_in_child(streams.process.forked)
    except Exception as error:
        streams.process.events.note("library-unattended", "multiprocessing: %r" % (error,), "multiprocessing")


def end(streams):
    """Write what was drawn: the interpreter of a child may end without its last functions being called."""
    try:
        if streams.process.events.begun or streams.fingerprints.factors:
            streams.fingerprints.end_of_child()
    except Exception as error:
        streams.process.events.note("fingerprint-missing", repr(error), "child")


#: Threads of one name, and tasks of one function, that enter the fingerprints: how many there are in the end may depend
#: on how far ahead of the training they got.
FINGERPRINTED = 32

#: What torch raises for a device that needs a generator of its own.
OTHER_DEVICE = "device type for generator"


def patch_threading(module, streams):
    """Give each thread a number by what it runs, in the order in which they are started."""
    plain = module.Thread.start
    if hasattr(plain, "__wrapped__") or not streams.controls:
        return

    @replaces(module.Thread, "start")
    def start(self):
        try:
            target = getattr(self, "_target", None) or type(self)
            self._deviate_drawer = Drawer(streams, target)
        except Exception as error:
            streams.process.events.note("thread-not-switched", repr(error), "start")
        return plain(self)


def patch_executor(module, streams):
    """Give each task of a pool of threads a number, in the order in which they are handed over."""
    plain = module.ThreadPoolExecutor.submit
    if hasattr(plain, "__wrapped__") or not streams.controls:
        return

    @replaces(module.ThreadPoolExecutor, "submit")
    def submit(*args, **kwargs):
        # Interpreters of their own have functions of their own.
        if len(args) > 1 and type(args[0]).__name__ != "InterpreterPoolExecutor":
            args = (args[0], Task(Drawer(streams, args[1]), args[1]), *args[2:])
        return plain(*args, **kwargs)


def patch_pool(module, streams):
    """Give each task of the older pools of threads a number, in the order in which they are handed over."""
    cls = module.ThreadPool
    if "apply_async" in vars(cls) or not streams.controls or not hasattr(cls, "_guarded_task_generation"):
        return
    plain_apply, plain_tasks = cls.apply_async, cls._guarded_task_generation

    @functools.wraps(plain_apply)
    def apply_async(self, func, *args, **kwargs):
        return plain_apply(self, Task(Drawer(streams, func), func), *args, **kwargs)

    @functools.wraps(plain_tasks)
    def tasks(self, *args, **kwargs):
        for job, number, function, args_of, kwargs_of in plain_tasks(self, *args, **kwargs):
            # How the pool raises what the program's own iterable raised stays as it is.
            own = function if function is reraised else Task(Drawer(streams, function), function)
            yield job, number, own, args_of, kwargs_of

    reraised = getattr(module, "_helper_reraises_exception", None)
    cls.apply_async, cls._guarded_task_generation = apply_async, tasks


class Task:
    """A function that a thread of a pool calls."""

    __slots__ = ("drawer", "function")

    #: Of each thread, the task that it is at.
    at = threading.local()

    def __init__(self, drawer, function):
        self.drawer = drawer
        self.function = function

    def __call__(self, *args, **kwargs):
        at = self.at
        before = getattr(at, "drawer", None)
        at.drawer = self.drawer
        try:
            return self.function(*args, **kwargs)
        finally:
            at.drawer = before


def current_drawer():
    """Return what draws in this thread, None where the program did not start it."""
    drawer = getattr(Task.at, "drawer", None)
    if drawer is None:
        drawer = getattr(threading._active.get(threading.get_ident()), "_deviate_drawer", None)
    return drawer


class Drawer:
    """What draws in one thread or task.

    Attributes
    ----------
    key : tuple
        Which thread it is, the same in every run.
    counts : dict
        How many threads it started, and values that differ from run to run it derived seeds for, by what they were.
    """

    def __init__(self, streams, target):
        self.streams = streams
        parent = current_drawer()
        counts = streams.counts if parent is None else parent.counts
        name = "thread %s" % getattr(target, "__qualname__", type(target).__qualname__)
        self.number = counts[name] = counts.get(name, 0) + 1
        self.key = (*(() if parent is None else parent.key), name, self.number)
        #: What the shared generators were seeded with as the thread began: another time would be any time.
        self.keys = {generator.name: generator.key for generator in streams.generators}
        self.counts = {}
        self.generators = {}

    def generator(self, shared, factor):
        """Return the generator of this thread that stands for a shared one."""
        if (shared, factor) not in self.generators:
            key = self.keys.get(shared.name, shared.key)
            seed = mix(self.streams.seed(factor, key), *self.key)
            self.generators[shared, factor] = shared.alone(shared.fresh(seed))
            if self.number <= FINGERPRINTED:
                self.streams.threads.add(factor, seed)
        return self.generators[shared, factor]


class Threads:
    """What threads drew from, by factor, whatever their order."""

    def __init__(self, streams):
        self.streams = streams
        self.lock = threading.Lock()
        streams.fingerprints.content_sources.append(self)
        self.forget()

    def forget(self):
        """Begin anew."""
        self.lock = threading.Lock()
        self.sums = {}
        self.librarys = None

    def of_libraries(self):
        """Return what draws in all threads that neither the program nor a library of Python's started."""
        with self.lock:
            if self.librarys is None:
                self.librarys = Drawer(self.streams, Threads)
            return self.librarys

    def add(self, factor, seed):
        """Take a seed into the fingerprint of `factor`."""
        with self.lock:
            if not self.sums:
                self.streams.fingerprints.at_end.append(self.finish)
            self.sums[factor] = self.sums.get(factor, 0) + seed

    def finish(self):
        """Take all into the digests, as they are about to be written."""
        for factor, total in sorted(self.sums.items()):
            self.streams.fingerprints.add_draw(factor, total)


def draw_in_thread(streams, factor, function):
    """Return what takes the place of `function`, which draws, in another thread than the program's first.

    None where it stays as it is: with torch in a thread of a library's, for which the first one may be waiting.
    """
    drawer = current_drawer()
    is_librarys = drawer is None
    if is_librarys:
        drawer = streams.threads.of_libraries()
    factor = factor or OTHER
    owner = getattr(function, "__self__", None)
    shared = shared_generator(streams, owner, function)
    if shared is not None:
        return getattr(drawer.generator(shared, factor), function.__name__, function)
    if is_librarys:
        return None
    if is_torchs(owner, function):
        return OfTorch(streams, drawer, factor, function)
    if not is_generator(owner):
        note_shared(streams, function)
    return function


def is_generator(owner):
    """Tell whether `owner` is a generator: one that nothing switches is the thread's own."""
    random = sys.modules.get("random")
    if random is not None and isinstance(owner, random.Random):
        return True
    return hasattr(owner, "bit_generator") or hasattr(owner, "_bit_generator")


def shared_generator(streams, owner, function):
    """Return what switches the generator that a method belongs to, None where it is no method of one."""
    known = streams.made.get(id(owner))
    if known is not None:
        return known
    return next((generator for generator in streams.all_generators() if generator.owns(owner, function)), None)


def is_torchs(owner, function):
    """Tell whether a function is one of torch's that draw, or such a method of a tensor."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    return getattr(torch, getattr(function, "__name__", ""), None) is function or isinstance(owner, torch.Tensor)


def note_shared(streams, function):
    """Note a draw that may differ from run to run."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    message = "%s draws in a thread from generators that all threads share: it may draw otherwise in each run" % name
    streams.process.events.note("thread-draws-shared", message, name)


class OfTorch:
    """A function of torch that draws from the generator of this thread, unless it takes none."""

    __slots__ = ("streams", "drawer", "factor", "function")

    def __init__(self, streams, drawer, factor, function):
        self.streams = streams
        self.drawer = drawer
        self.factor = factor
        self.function = function

    def __call__(self, *args, **kwargs):
        function, streams = self.function, self.streams
        own = self.own_generator(kwargs.get("generator"))
        if own is None:
            return function(*args, **kwargs)
        try:
            return function(*args, **dict(kwargs, generator=own))
        except TypeError:
            # It takes no generator, or the program's own arguments are wrong, which shows again.
            pass
        except RuntimeError as error:
            if OTHER_DEVICE not in str(error):
                raise
        note_shared(streams, function)
        return function(*args, **kwargs)

    def own_generator(self, generator):
        """Return the generator of this thread; None where the program gives one that is the thread's already."""
        try:
            if generator is not None:
                shared = self.streams.made.get(id(generator))
            else:
                shared = next((known for known in self.streams.generators if known.name == "torch"), None)
            return None if shared is None else self.drawer.generator(shared, self.factor)
        except Exception as error:
            self.streams.process.events.note("draw-not-told-apart", "torch: %r" % (error,), "thread")
            return None
