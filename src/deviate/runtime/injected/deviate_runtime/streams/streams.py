"""Which factor draws now, and the generators that are switched to its states."""

import functools
import os
import threading

from .caller import Callers
from .commands import command_of_child
from .derive import is_clock, mix, text_of
from .fingerprints import Fingerprints

#: The factor outside all boundaries.
OTHER = "other"
AUGMENT = "augment"
DATA = "data"
LAYERS = "layers"

#: Draws that become seeds: the same in every run, since seeds are derived anyhow.
SEED = "seed"

#: Child processes, by their number, that write fingerprints and places of seeds; later ones are silent.
CHILDREN_HEARD = 64

#: Generator objects of the program that are switched; those it makes beyond draw for the factor that made them.
MADE_LIMIT = 64


class Streams:
    """The factors' streams of random numbers in one process.

    Attributes
    ----------
    controls : bool
        False: nothing is replaced or switched, only observed.
    current : str
        Factor that draws now.
    lineage : tuple
        Tells this process from the other ones of the run, the same way in every run.
    generators : list of Generator
        Those of the libraries, for good.
    made : dict
        Those the program made and still holds, by the identity of its object.
    """

    def __init__(self, process):
        self.process = process
        config = process.config
        self.controls = config["control"] == "streams"
        self.seeds = dict(config.get("seeds") or {}, seed=0)
        self.varying = frozenset(config.get("varying") or ())
        self.callers = Callers(config)
        self.current = OTHER
        self.lineage = (process.rank or 0, *command_of_child(process))
        self.generators = []
        self.made = {}
        #: How many seeds were derived for values that differ from run to run, by where they came from.
        self.counts = {}
        self.said = set()
        self.thread = threading.get_ident()
        #: How deep the program is in `torch.random.fork_rng`: states handed back there stand for factors, too.
        self.forks = 0
        #: True while states are used again that nobody knows the factors of: nothing is switched.
        self.suspended = False
        self.fingerprints = Fingerprints(self)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: self.enter_child("fork", process.forks))

    # Boundaries

    def enter(self, factor):
        """Switch to `factor`; return the factor to `leave` to."""
        before = self.current
        if before != factor:
            self.switch(factor)
        return before

    def leave(self, before):
        """Switch back to the factor that `enter` returned."""
        if self.current != before:
            self.switch(before)

    def switch(self, factor):
        """Put every generator into the state of `factor`; other threads than the program's first one switch nothing."""
        if threading.get_ident() != self.thread:
            self.process.events.note(
                "thread-not-switched", "draws of a thread are not told apart from those of the program", "thread"
            )
            return
        before = self.current
        try:
            self.fingerprints.look(before)
        except Exception as error:
            self.process.events.note("draws-not-seen", "%s: %r" % (before, error), before)
        self.current = factor
        if not self.controls or self.suspended:
            return
        for generator in self.all_generators():
            try:
                generator.switch(factor)
            except Exception as error:
                # It goes on in the state it is in, and is told so: `at` stays.
                self.process.events.note(
                    "factor-not-switched", "%s to %s: %r" % (generator.name, factor, error), (generator.name, factor)
                )

    def within(self, factor, function):
        """Return `function` with all its draws made for `factor`."""
        enter, leave = self.enter, self.leave

        @functools.wraps(function)
        def inside(*args, **kwargs):
            before = enter(factor)
            try:
                return function(*args, **kwargs)
            finally:
                leave(before)

        inside._deviate = True
        return inside

    def all_generators(self):
        """Return all generators that are switched."""
        return self.generators + list(self.made.values()) if self.made else self.generators

    # Seeds

    def seed(self, factor, key):
        """Return the seed of `factor` for the generator that `key` tells from others.

        Where the data are held fixed, what the author gives decides them, as it does without Deviate.
        """
        if factor == DATA and DATA not in self.varying and key[0] == "given" and key[1].isdigit():
            return int(key[1])
        return mix(self.seeds[factor], *key)

    def key(self, given, unseeded="clock"):
        """Return the key of a generator seeded with `given`."""
        if given is None or is_clock(given):
            return self.next_key(unseeded)
        return ("given", text_of(given))

    def next_key(self, source):
        """Return the next key for a generator that is seeded by `source`, which would differ from run to run."""
        count = self.counts[source] = self.counts.get(source, 0) + 1
        return (*self.lineage, source, count)

    def reseed(self, call, given, generators, plain, frame):
        """Seed `generators` as the program asks for, each factor's state by a seed of its own.

        Parameters
        ----------
        call : str
            Name of the function the program calls.
        given : object
            The seed it gives.
        generators : sequence of Generator
            All that the call seeds.
        plain : callable
            What the call does by itself: done where a library seeds for its own purposes, or nothing is controlled.
        frame : frame
            Of the caller.

        Returns
        -------
        object
            What `plain` returned, None where it was not called.
        """
        seeded = self.place(call, given, frame)
        for generator in generators:
            generator.seeded = seeded
        if self.controls and seeded is not None:
            key = self.key(given)
            for generator in generators:
                generator.reset(key)
            return None
        for generator in generators:
            generator.planted = False
        result = plain()
        self.fingerprints.overlook(generators)
        return result

    def place(self, call, given, frame, replaced=True):
        """Say once where the program seeds, itself or through a library's function; None where a library does."""
        found = self.callers.place(frame)
        if found is None:
            return None
        seeded = dict(found, call=call, given=repr(given)[:100])
        told = (call, found["file"], found["line"])
        if told not in self.said and self.is_heard():
            self.said.add(told)
            self.process.events.write(dict(seeded, event="seed", replaced=self.controls and replaced))
        return seeded

    # Processes

    def enter_child(self, *identity):
        """Give a child process draws of its own, the same in every run of the same seeds."""
        self.lineage = (self.process.rank or 0, "child", *identity)
        self.counts = {}
        self.thread = threading.get_ident()
        self.fingerprints.forget()

    def is_heard(self):
        """Tell whether this process says what it draws: a run may start workers in every epoch, and each has files."""
        return len(self.lineage) < 3 or all(not isinstance(n, int) or n <= CHILDREN_HEARD for n in self.lineage[2:])
