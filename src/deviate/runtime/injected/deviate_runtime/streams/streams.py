"""Which factor draws now, and the generators that are switched to its states."""

import collections
import functools
import json
import os
import re
from threading import get_ident

from ..factors import DATA, OTHER, SEED
from ..given import command_words, program_words
from .callers import Callers
from .examples import Examples
from .fingerprints import Fingerprints
from .repeats import Repeats
from .seeds import Given, is_clock, mix, text_of
from .threads import Threads, current_drawer

#: Child processes, by their number, that write fingerprints and locations of seeds; later ones write nothing.
REPORTING_CHILDREN = 64

#: What a launcher makes anew each time: a UUID, a name of `tempfile`, a day with a time. It is the same in no two runs;
#: processes that nothing else tells apart draw by their order.
MADE_ANEW = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?<![a-z0-9])tmp[a-z0-9_]{8}(?![a-z0-9_])"
    r"|20\d\d-?[01]\d-?[0-3]\d[T_ -]?[0-2]\d[:_-]?[0-5]\d(?:[:_-]?[0-5]\d)?"
)


class Streams:
    """The factors' streams of random numbers in one process.

    Attributes
    ----------
    controls : bool
        False: nothing is replaced or switched, only observed.
    current : str
        Factor that draws now.
    lineage : tuple
        Distinguishes this process from the other ones of the run, the same way in every run.
    generators : list of Generator
        Those of the libraries, for good.
    made : dict
        Those the program made and still holds, by the identity of its object.
    """

    def __init__(self, process):
        self.process = process
        config = process.config
        self.controls = config["control"] == "streams"
        self.seeds = dict(config.get("seeds") or {}, **{SEED: 0})
        self.varying = frozenset(config.get("varying") or ())
        self.callers = Callers(config)
        self.current = OTHER
        self.lineage = (process.rank or 0, *command_of_child(process))
        self.generators = []
        self.made = {}
        #: Models that were called early, by identity, as weak references: they name what optimizers train.
        self.models = {}
        #: How many seeds were derived for values that differ from run to run, by where they came from.
        self.counts = {}
        #: The last numbers that the system made up for generators that nothing seeds.
        self.fresh = collections.deque(maxlen=64)
        #: Calls that seed, with their lines, that an event was written of.
        self.reported = set()
        #: Where the generator was seeded that the last loader took its workers' seed from; the same in a worker.
        self.loader_seeded = self.worker_seeded = None
        self.thread = get_ident()
        #: How deep the program is in `torch.random.fork_rng`: states handed back there stand for factors, too.
        self.forks = 0
        #: True while states of unknown factors are used again: nothing is switched.
        self.suspended = False
        #: True while a library is imported in the midst of a boundary: the generators that it makes are its own.
        self.importing = False
        self.fingerprints = Fingerprints(self)
        self.examples = Examples(self)
        self.repeats = Repeats(self)
        self.threads = Threads(self)
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

    def pass_by(self, factor):
        """Sample as a switch to `factor` and back does, where nothing draws between; return what to `leave` to."""
        before = self.current
        if before != factor and get_ident() == self.thread:
            self.sample(before)
            self.sample(factor)
        return before

    # Compiled code of TensorFlow passes boundaries: AutoGraph would convert them, with all they call, in seconds.
    for _passed in (enter, leave, pass_by):
        _passed.autograph_info__ = {}
    del _passed

    def enter_import(self, of_library):
        """Begin to import a module in the midst of a boundary, which it does not draw for; return what to leave to."""
        before = self.enter(OTHER), self.importing
        self.importing = self.importing or of_library
        return before

    def leave_import(self, before):
        """Go on with the boundary."""
        factor, self.importing = before
        self.leave(factor)

    def switch(self, factor):
        """Put every generator into the state of `factor`; other threads than the program's first one switch nothing."""
        if get_ident() != self.thread:
            self.process.events.note(
                "thread-not-switched", "draws of a thread are not distinguished from those of the program", "thread"
            )
            return
        self.sample(self.current)
        self.current = factor
        if not self.controls or self.suspended:
            return
        for generator in self.all_generators():
            try:
                generator.switch(factor)
            except Exception as error:
                # It goes on in the state it is in, so `at` stays.
                self.process.events.note(
                    "factor-not-switched", "%s to %s: %r" % (generator.name, factor, error), (generator.name, factor)
                )

    def sample(self, factor):
        """Take what was drawn for a factor, which gives way to another one, into its fingerprint."""
        try:
            self.fingerprints.sample(factor)
        except Exception as error:
            self.process.events.note("draws-not-seen", "%s: %r" % (factor, error), factor)

    def call(*words, **named):
        """Return what a function returns, all its draws made for a factor: `call(streams, factor, function, …)`.

        No parameter has a name, as the function may be given one of that name.
        """
        streams, factor, function = words[:3]
        before = streams.enter(factor)
        try:
            return function(*words[3:], **named)
        finally:
            streams.leave(before)

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

    def is_first_thread(self):
        """Tell whether this is the thread in which boundaries count: the program's first one."""
        return get_ident() == self.thread

    def all_generators(self):
        """Return all generators that are switched."""
        return self.generators + list(self.made.values()) if self.made else self.generators

    # Seeds

    def seed(self, factor, key):
        """Return the seed of `factor` for the generator that `key` identifies.

        What the author gives decides draws that become seeds, as it does without Deviate: one may seed the data. It
        decides the data where these are held fixed.
        """
        if key[0] == "given" and (factor == SEED or (factor == DATA and DATA not in self.varying)):
            return key.seed
        return mix(self.seeds[factor], *key)

    def key(self, seed, unseeded="clock", form=None):
        """Return the key of a generator seeded with `seed`, see `Given` for `form`."""
        if seed is None or is_clock(seed):
            return self.next_key(unseeded)
        return Given(seed, form)

    def next_key(self, source):
        """Return the next key for a generator that is seeded by `source`, which would differ from run to run."""
        drawer = None if self.is_first_thread() else current_drawer()
        counts, thread = (self.counts, ()) if drawer is None else (drawer.counts, drawer.key)
        count = counts[source] = counts.get(source, 0) + 1
        return (*self.lineage, *thread, source, count)

    def reseed(self, call, seed, generators, plain, frame):
        """Seed `generators` as the program wants it, each factor's state by a seed of its own.

        Parameters
        ----------
        call : str
            Name of the function the program calls.
        seed : object
            The seed that the program gives.
        generators : sequence of Generator
            All that the call seeds.
        plain : callable, optional
            What the call does by itself: done where a library seeds for its own purposes, or nothing is controlled.
        frame : frame
            Of the caller.

        Returns
        -------
        object
            What `plain` returned, None where it was not called.
        """
        seeded = self.locate_seed(call, seed, frame)
        self.repeats.attempt(self.repeats.end, generators)
        for generator in generators:
            generator.seeded = seeded or self.worker_seeded
        result = self.seed_anew(seed, generators, plain, seeded is not None)
        if seeded is not None:
            self.repeats.attempt(self.repeats.begin, seeded, seed, generators, frame)
        return result

    def put_back(self, generator, plain):
        """Have `plain` put a state back: where nothing is controlled that is no draw; what was drawn before is one."""
        if self.controls:
            return plain()
        self.fingerprints.look()
        plain()
        return self.fingerprints.rebase([generator])

    def seed_anew(self, seed, generators, plain, is_programs):
        """Seed generators by seeds of the factors where the program seeds, and else by what is `plain`."""
        if self.controls and is_programs:
            key = self.key(seed)
            for generator in generators:
                generator.reset(key)
            return None
        for generator in generators:
            generator.planted = False
        result = plain() if plain is not None else None
        self.fingerprints.rebase(generators)
        for generator in generators:
            self.fingerprints.add_seeding(generator.name, "plain", text_of(seed))
        return result

    def locate_seed(self, call, seed, frame, replaced=True):
        """Return where the program seeds, itself or through a library's function, and write it down once.

        None where a library seeds for its own purposes.
        """
        location = self.callers.locate(frame)
        if location is None:
            return None
        seeded = dict(location, call=call, given=repr(seed)[:100])
        key = (call, location["file"], location["line"])
        if key not in self.reported and self.is_reporting():
            self.reported.add(key)
            self.process.events.write(dict(seeded, event="seed", replaced=self.controls and replaced))
        return seeded

    # Processes

    def enter_child(self, *identity):
        """Give a child process draws of its own, the same in every run of the same seeds."""
        if self.process.is_warm:
            return
        self.lineage = (self.process.rank or 0, "child", *identity)
        self.counts = {}
        self.thread = get_ident()
        if self.process.forked:
            self.generators = [each for each in self.generators if not each.is_on_device]
            self.made = {number: each for number, each in self.made.items() if not each.is_on_device}
        self.fingerprints.forget()

    def adopt(self, config):
        """Draw as in another run, whose seeds differ in other factors than the one that drew so far."""
        self.seeds.update(config["seeds"])
        self.varying = frozenset(config["varying"])
        self.callers = Callers(config)
        for generator in self.all_generators():
            generator.states = {factor: state for factor, state in generator.states.items() if factor == OTHER}
        marks = self.fingerprints.marks
        self.fingerprints.marks = {slot: mark for slot, mark in marks.items() if slot[1] == OTHER}

    def is_reporting(self):
        """Tell whether this process writes what it draws: a run may start workers in every epoch, each with files."""
        return len(self.lineage) < 3 or all(not isinstance(n, int) or n <= REPORTING_CHILDREN for n in self.lineage[2:])


def command_of_child(process):
    """Return what identifies this process by its command line if another process of the run started it as a command.

    Children of `multiprocessing` are identified by their number, and ranks by theirs.
    """
    words = command_words()
    if process.rank is not None or "--multiprocessing-fork" in words:
        return ()
    parents = "events-%d-" % os.getppid()
    if not any(name.startswith(parents) for name in os.listdir(process.config["records"])):
        return ()
    overlay = process.config.get("overlay")
    texts = [word.replace(overlay, "") if overlay else word for word in words[1:]]
    lasting = [MADE_ANEW.sub("", word) for word in texts]
    return ("command", "%08x" % mix(*lasting)) + (() if lasting == texts else (started_before(process),))


def started_before(process):
    """Count the processes that the same parent started with the same program before this one."""
    own, same, count = "events-%d-" % os.getpid(), (os.getppid(), program_words()), 0
    for name in os.listdir(process.config["records"]):
        if not name.startswith("events-") or name.startswith(own):
            continue
        try:
            with open(os.path.join(process.config["records"], name)) as file:
                event = json.loads(file.readline())
        except ValueError:  # that of one which starts in this moment
            continue
        count += (event.get("ppid"), event.get("argv")) == same
    return count
