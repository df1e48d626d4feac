"""The module `random`."""

import functools
import os
import sys


def attend(random, seeds):
    """Seed `random`, and replace the seeds that the program gives it."""
    if getattr(random.seed, "_deviate", False):
        return
    plain = random.Random.seed

    @functools.wraps(plain)
    def seed_instance(self, a=None, *args, **kwargs):
        # The module's own generator is seeded through the function below; other classes draw elsewhere (SystemRandom).
        if a is None and called_by_library(random):
            return plain(self, a, *args, **kwargs)
        return plain(self, seeds.replace("random.Random", a, "random.Random"), *args, **kwargs)

    @functools.wraps(random.seed)
    def seed(a=None, *args, **kwargs):
        return plain(random._inst, seeds.replace("random.seed", a, "random"), *args, **kwargs)

    seed._deviate = True
    random.Random.seed = seed_instance
    random.seed = seed
    plain(random._inst, seeds.start)
    if hasattr(os, "register_at_fork"):
        # Registered after the hook of `random` itself, which seeds a forked child from the system.
        os.register_at_fork(after_in_child=lambda: plain(random._inst, seeds.start))


def called_by_library(random):
    """Tell whether the standard library makes a generator of its own (`tempfile` must not meet its own names again)."""
    from .caller import STANDARD_LIBRARY, past_forwarders

    frame = past_forwarders(sys._getframe(2))
    return frame is None or os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == STANDARD_LIBRARY


def seed_again(seeds):
    """Seed `random` in a child process."""
    random = sys.modules.get("random")
    if random is not None and "random" not in seeds.explicit:
        random.Random.seed.__wrapped__(random._inst, seeds.start)
