"""Digests that are equal for runs in which a factor drew the same.

A factor's digest is that of the states its generators reach: equal digests mean that the same generators moved from the
same seeds by the same draws. Where a library shows what the factor decided (initial weights, the order of the data) its
content takes the place of the draws.

Two runs need not draw equally often: how many episodes there are may follow from what is trained. So a digest is kept
after each power of two of movements, and, where the factors' states are Deviate's own, one of all that generators were
seeded with: from equal seeds the same numbers are drawn, as far as both runs draw.
"""

import operator
import zlib

from ..factors import AUGMENT, INIT, SHUFFLE
from .seeds import record_source

#: Movements that enter the first digest, which is written at once: a process that is killed has it.
FIRST = 4

#: Switches away from a factor at which its generators are sampled; later ones are at powers of two only, as a sample
#: costs several microseconds.
SAMPLES = 32


by_name = operator.itemgetter(0)


class Series:
    """A digest of parts, with those after 1, 2, 4, 8, … of them."""

    __slots__ = ("digest", "count", "series")

    def __init__(self):
        self.digest = 0
        self.count = 0
        self.series = []

    def add(self, data):
        """Take `data` into the digest."""
        self.digest = zlib.crc32(data, self.digest)
        self.count += 1
        if not self.count & (self.count - 1):
            self.series.append(self.digest)

    def describe(self):
        """Return what is written of it."""
        return {"count": self.count, "digest": "%08x" % self.digest, "series": ["%08x" % each for each in self.series]}


class Fingerprint(Series):
    """The digest of what one factor drew so far; `count` counts the movements of its generators that were seen."""

    __slots__ = ("samples", "sources", "is_written", "has_content", "handed", "unseen")

    def __init__(self):
        Series.__init__(self)
        self.samples = 0
        #: Where the generators that moved were seeded, by generator.
        self.sources = {}
        self.is_written = False
        self.has_content = False
        #: What was drawn apart from states that Deviate seeded and switches: seeds that are handed to libraries.
        self.handed = Series()
        #: True: something was drawn for it that no digest has, from a generator that a library made.
        self.unseen = False


class Fingerprints:
    """The fingerprints of one process."""

    #: Factors whose content libraries show; their draws are written only where no library did.
    WITH_CONTENT = (INIT, SHUFFLE)

    def __init__(self, streams):
        self.streams = streams
        self.events = streams.process.events
        self.factors = {}
        #: Last mark of each generator, for each factor; of all factors together where nothing is switched.
        self.marks = {}
        #: What generators were seeded with; None once one of them is in a state that is not known.
        self.seedings = Series()
        #: Called before the last digests are written: what libraries show at the end of a process.
        self.at_end = []
        #: What takes down content, and begins anew in a child process.
        self.content_sources = []

    def of(self, factor):
        """Return the fingerprint of `factor`."""
        if factor not in self.factors:
            self.factors[factor] = Fingerprint()
        return self.factors[factor]

    # Draws

    def look(self):
        """Sample the current factor, which may never give way to another one: then no switch would."""
        if self.streams.is_first_thread():
            self.streams.sample(self.streams.current)

    def sample(self, factor):
        """Update the digest of `factor`, which gives way to another one, if this switch is one to be sampled."""
        fingerprint = self.factors.get(factor) or self.of(factor)
        count = fingerprint.samples = fingerprint.samples + 1
        if not self.streams.controls or count <= SAMPLES or not count & (count - 1):
            self.update(factor, fingerprint)

    def update(self, factor, fingerprint):
        """Take the generators that moved into the digest, whatever the order in which libraries were loaded."""
        moved = []
        for generator in self.streams.all_generators():
            mark = self.mark(generator, factor)
            if self.last_mark(generator, factor) != mark:
                moved.append((generator.name, mark))
                # one of several that the program made, or one that was seeded elsewhere before
                if hasattr(generator, "item") or fingerprint.sources.get(generator.name):
                    record_source(self.streams, factor, generator.name, generator.seeded or generator.made)
                else:
                    fingerprint.sources[generator.name] = generator.seeded
                if factor in (SHUFFLE, AUGMENT):
                    self.streams.repeats.shuffled(generator, mark)
            self.marks[self.slot(generator, factor)] = mark
        if moved:
            # of one name, in the order in which the program made them
            moved.sort(key=by_name)
            self.add(factor, fingerprint, repr(moved).encode())

    def slot(self, generator, factor):
        """Return the key of a mark: where nothing is switched, all factors share a state."""
        return id(generator), factor if self.streams.controls else None

    def mark(self, generator, factor):
        """Return a number that identifies the state of `factor`."""
        live = not self.streams.controls or factor == generator.at
        return generator.mark(generator.live() if live else generator.state(factor))

    def last_mark(self, generator, factor):
        """Return the last mark in the digest; before that, the one the generator was seeded to."""
        slot = self.slot(generator, factor)
        if slot not in self.marks:
            if not self.streams.controls:
                return None
            self.marks[slot] = generator.mark(generator.fresh(self.streams.seed(factor, generator.key)))
        return self.marks[slot]

    def rebase(self, generators):
        """Let the current factor's draws begin at the present states: what a library drew or seeded does not count."""
        current = self.streams.current
        for generator in generators:
            try:
                mark = self.marks[self.slot(generator, current)] = self.mark(generator, current)
            except Exception as error:
                self.events.note("draws-not-seen", "%s: %r" % (generator.name, error), generator.name)
            else:
                self.streams.repeats.rebase(generator, current, mark)

    def add_draw(self, factor, number):
        """Take a draw into the digest that no switched generator makes."""
        fingerprint = self.of(factor)
        fingerprint.handed.add(b"%d" % number)
        self.add(factor, fingerprint, b"%d" % number)

    def add(self, factor, fingerprint, data):
        """Count a movement; after the first few the digest is written."""
        fingerprint.add(data)
        if fingerprint.count == FIRST and factor not in self.WITH_CONTENT:
            self.write(factor, fingerprint, "first")

    def add_seeding(self, name, *key):
        """Take down what a generator begins with."""
        if self.seedings is not None:
            self.seedings.add(repr((name, key)).encode("utf-8", "backslashreplace"))

    def restart(self, generator):
        """Begin anew with a generator that was seeded."""
        self.add_seeding(generator.name, *generator.key)
        for slot in [slot for slot in self.marks if slot[0] == id(generator)]:
            del self.marks[slot]

    # Content

    def write_content(self, name, digest, count, moment, series=(), **more):
        """Write what a factor decided, where a library shows it."""
        fingerprint = self.of(name)
        fingerprint.has_content = True
        if self.streams.is_reporting():
            event = self.event(name, digest, count, moment, fingerprint.sources)
            event.update(more, series=["%08x" % each for each in series])
            if name in self.WITH_CONTENT:
                # Content need not be drawn: weights may be read from a file, an order may be fixed.
                if self.streams.controls:
                    self.update(name, fingerprint)
                count = fingerprint.count + fingerprint.unseen
                event["drawn"] = {"count": count, "digest": "%08x" % fingerprint.digest, "unseen": fingerprint.unseen}
            self.events.write(event)

    # Events

    def flush(self):
        """Write what was drawn so far and is not written yet; the main loop goes on, so initialisation is over."""
        for factor, fingerprint in list(self.factors.items()):
            if fingerprint.sources and not fingerprint.count and self.streams.controls:
                self.update(factor, fingerprint)
            if fingerprint.count and not (fingerprint.is_written or fingerprint.has_content):
                self.write(factor, fingerprint, "first")

    def finish(self):
        """Write, at the normal end of the process, where every factor's generators stand."""
        for finish in self.at_end:
            try:
                finish()
            except Exception as error:
                self.events.note("fingerprint-missing", repr(error), finish)
        current = self.streams.current
        self.of(current)
        for factor, fingerprint in list(self.factors.items()):
            if factor == current or (self.streams.controls and fingerprint.samples):
                self.update(factor, fingerprint)
            if fingerprint.count and not fingerprint.has_content:
                self.write(factor, fingerprint, "end")

    def end_of_child(self):
        """Write, at the end of a child process, what of the first draws is not written yet."""
        current = self.streams.current
        self.update(current, self.of(current))
        for finish in self.at_end:
            finish()
        self.flush()

    def write(self, factor, fingerprint, moment):
        """Write the digest of a factor's draws."""
        fingerprint.is_written = True
        if self.streams.is_reporting():
            event = self.event(factor, fingerprint.digest, fingerprint.count, moment, fingerprint.sources)
            event["series"] = fingerprint.describe()["series"]
            if self.streams.controls and self.seedings is not None:
                event["seeded"] = dict(self.seedings.describe(), seed="%08x" % self.streams.seed(factor, ("factor",)))
                if fingerprint.handed.count:
                    event["seeded"]["handed"] = fingerprint.handed.describe()
            self.events.write(event)

    def event(self, name, digest, count, moment, sources):
        """Return the event of a digest."""
        described = [dict(seeded or {}, generator=generator) for generator, seeded in sorted(sources.items())]
        return {
            "event": "fingerprint",
            "name": name,
            "digest": "%08x" % digest,
            "count": count,
            "moment": moment,
            "sources": described,
        }

    def forget(self):
        """Begin anew in a child process, with generators in the states they are in now."""
        self.factors = {}
        self.marks = {}
        # What it inherits stands where its parent had come to.
        self.seedings = None
        self.at_end = []
        for source in self.content_sources:
            source.forget()
        self.rebase(self.streams.all_generators())
