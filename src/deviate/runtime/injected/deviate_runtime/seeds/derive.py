"""Seeds derived from the run's seed."""

import hashlib
import operator
import os
import sys
import time

from .caller import Callers

#: NumPy's legacy seeding takes no more.
SEED_BITS = 32

#: A given seed this close to the clock's seconds, milliseconds, microseconds or nanoseconds was read off the clock.
CLOCK_SECONDS = 60
CLOCK_SCALES = (1, 1000, 1000000, 1000000000)


class Seeds:
    """Derives seeds and says once per place which it replaced.

    Attributes
    ----------
    start : int
        Seed of this process for what the program does not seed itself.
    explicit : set of str
        Libraries that the program has seeded itself.
    """

    def __init__(self, process):
        self.process = process
        self.run = process.config["seed"]
        self.callers = Callers(process.config)
        self.start = mix(self.run, "start", process.rank or 0)
        self.explicit = set()
        self.said = set()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: self.enter_child("fork", process.forks))
        #: How many seeds were derived for values that differ from run to run, by where they came from.
        self.counts = {}

    def enter_child(self, *identity):
        """Give a child process draws of its own, the same in every run of the same seed."""
        self.start = mix(self.run, "start", self.process.rank or 0, "child", *identity)
        self.counts = {}

    def replace(self, call, given, library, frame=None):
        """Return what to seed with instead of `given`.

        Parameters
        ----------
        call : str
            Name of the function the program calls.
        library : str
            What it seeds, for `explicit`.
        frame : frame, optional
            Of the caller; the one that called this method's caller if left out.
        """
        place = self.callers.place(frame or sys._getframe(2))
        if place is None:
            return given
        used = self.derive(given)
        self.explicit.add(library)
        if (call, place) not in self.said:
            self.said.add((call, place))
            file, line = place
            event = {
                "event": "seed",
                "call": call,
                "file": file,
                "line": line,
                "given": repr(given)[:100],
                "used": used,
            }
            self.process.events.write(event)
        return used

    def derive(self, given):
        """Return the seed that stands for `given`."""
        if given is None or is_clock(given):
            return self.next("clock")
        return mix(self.run, "given", text_of(given))

    def next(self, source):
        """Return the next seed for draws from `source` that would differ from run to run."""
        count = self.counts[source] = self.counts.get(source, 0) + 1
        return mix(self.start, source, count)


def mix(*parts):
    """Return a seed; equal parts give equal seeds on every machine."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode("utf-8", "backslashreplace")).digest()
    return int.from_bytes(digest[: SEED_BITS // 8], "little")


def text_of(given):
    """Return a text that is equal for equal seeds: 0, 0.0, True and an array's 0 aside, each type its own."""
    if hasattr(given, "tolist"):
        given = given.tolist()
    try:
        return str(operator.index(given))
    except TypeError:
        return repr(given)


def is_clock(given):
    """Tell whether `given` was read off the clock just now."""
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return False
    now = time.time()
    if any(abs(given - now * scale) < CLOCK_SECONDS * scale for scale in CLOCK_SCALES):
        return True
    milliseconds = int(now * 1000) % 2**SEED_BITS
    return abs(given - milliseconds) < CLOCK_SECONDS * 1000
