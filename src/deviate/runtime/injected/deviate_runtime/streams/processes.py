"""Child processes: each draws its own random numbers, the same in every run of the same seeds."""

import functools

from . import numpy_random, python_random, torch_random


def attend(module, streams):
    """Tell the children of `multiprocessing` apart by their number, which is the same in every run."""
    plain = module.BaseProcess._bootstrap
    if hasattr(plain, "__wrapped__"):
        return

    @functools.wraps(plain)
    def _bootstrap(self, *args, **kwargs):
        begin(self, streams)
        try:
            return plain(self, *args, **kwargs)
        finally:
            end(streams)

    module.BaseProcess._bootstrap = _bootstrap


def begin(child, streams):
    """Give a child draws of its own; what it inherited by a fork it goes on with, as without Deviate."""
    try:
        forked = streams.process.forked
        streams.enter_child(*child._identity)
        if streams.controls:
            for part in (python_random,) if forked else (python_random, numpy_random, torch_random):
                part.seed_again(streams, forked)
    except Exception as error:
        streams.process.events.note("library-unattended", "multiprocessing: %r" % (error,), "multiprocessing")


def end(streams):
    """Write what was drawn: the interpreter of a child may end without its last functions being called."""
    try:
        if streams.process.events.begun or streams.fingerprints.factors:
            streams.fingerprints.end_of_child()
    except Exception as error:
        streams.process.events.note("fingerprint-missing", repr(error), "child")
