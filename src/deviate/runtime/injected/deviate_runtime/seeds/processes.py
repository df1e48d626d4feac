"""Child processes: each draws its own random numbers, the same in every run of the same seed."""

import functools

from . import numpy_random, python_random, torch_random


def attend(module, seeds):
    """Tell the children of `multiprocessing` apart by their number, which is the same in every run."""
    plain = module.BaseProcess._bootstrap
    if hasattr(plain, "__wrapped__"):
        return

    @functools.wraps(plain)
    def _bootstrap(self, *args, **kwargs):
        forked = seeds.process.forked
        try:
            seeds.enter_child(*self._identity)
            for part in (python_random,) if forked else (python_random, numpy_random, torch_random):
                part.seed_again(seeds)
        except Exception as error:
            seeds.process.events.note("library-unattended", "multiprocessing: %r" % (error,), "multiprocessing")
        return plain(self, *args, **kwargs)

    module.BaseProcess._bootstrap = _bootstrap
