"""Values that a framework's own training loop reports. They are observed; nothing is added to the loop."""

import functools
import weakref

from ..frameworks import EPOCH, every
from ..names import PREFIX

#: What frameworks log beside the metrics: schedules and counters. Recorded only where the user chose them.
BOOKKEEPING = frozenset(("epoch", "step", "global_step", "learning_rate", "lr", "total_flos"))


class Observer:
    """Records what a framework reports; a failure is noted and the framework goes on."""

    def __init__(self, process):
        self.process = process
        #: Weak references to what counts the epochs of a training, by id.
        self.trainings = {}

    def report(self, logs, prefix=PREFIX):
        """Record each number in `logs` as ``fit:KEY``, but for bookkeeping and what the source yields itself."""
        recorder = self.process.recorder
        names = recorder.names
        kept = {}
        for key in logs or ():
            name = prefix + str(key)
            if name not in names.sourced and (key not in BOOKKEEPING or name in names.statics):
                kept[key] = logs[key]
        if kept:
            recorder.mapping(None, kept, prefix)

    def tick(self, training, epoch=None):
        """Count an epoch as an iteration of the main loop, unless a loop in the source is the main loop.

        `training` is an object that each training has of its own.
        """
        if self.process.counts_source_loop:
            return
        known = self.trainings.get(id(training))
        if known is None or known() is not training:
            self.process.is_entering = True
            self.trainings[id(training)] = weakref.ref(training)
        self.process.recorder.tick(epoch)

    def before(self, owner, name, observe):
        """Have ``observe(*args)`` called before ``owner.name(*args)``."""
        self.wrap(owner, name, observe, first=True)

    def after(self, owner, name, observe):
        """Have ``observe(*args)`` called after ``owner.name(*args)``, also where that raised: values were reported."""
        self.wrap(owner, name, observe, first=False)

    def wrap(self, owner, name, observe, first):
        """Wrap a method that is not wrapped yet; an owner that lacks it stays as it is."""
        plain = getattr(owner, name, None)
        if plain is None or hasattr(plain, "_deviate"):
            return

        def safely(args, kwargs):
            try:
                observe(*args, **kwargs)
            except Exception as error:
                self.process.recorder.failed(None, error)

        @functools.wraps(plain)
        def method(*args, **kwargs):
            if first:
                safely(args, kwargs)
                return plain(*args, **kwargs)
            try:
                return plain(*args, **kwargs)
            finally:
                safely(args, kwargs)

        method._deviate = True
        setattr(owner, name, method)


def observe_rows(module, process):
    """Observe the methods of `module` that the table of epochs has."""
    observer = Observer(process)
    for name, path, kind in every("epochs"):
        if name == module.__name__:
            owner, _, method = path.rpartition(".")
            observe = tick_of(observer) if kind == EPOCH else report_of(observer)
            observer.before(getattr(module, owner, None), method, observe)


def tick_of(observer):
    """Return a function that counts an epoch; it is called with what trains, and maybe with the epoch's number."""
    return lambda training, epoch=None, *args, **kwargs: observer.tick(training, epoch)


def report_of(observer):
    """Return a function that records the first argument of a method."""
    return lambda self, logs, *args, **kwargs: observer.report(logs)
