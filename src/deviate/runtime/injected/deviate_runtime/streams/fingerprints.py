"""Digests that tell runs in which a factor drew the same from runs in which it did not.

Of a factor, what is digested is the states its generators reach: equal digests mean that the same generators moved from
the same seeds by the same draws. Where a library shows what the factor decided (initial weights, the order of the data)
its `content` takes the place of the draws.
"""

import operator
import zlib

#: Movements that enter the first digest, which is written at once: a process that is killed has it.
FIRST = 4

#: Switches away from a factor at which its generators are looked at; then at powers of two only, as looking costs
#: several microseconds.
LOOKS = 32


by_name = operator.itemgetter(0)


class Fingerprint:
    """What is known of one factor."""

    __slots__ = ("digest", "moved", "looks", "sources", "said", "content")

    def __init__(self):
        self.digest = 0
        self.moved = 0
        self.looks = 0
        #: Where the generators that moved were seeded, by generator.
        self.sources = {}
        self.said = False
        self.content = False


class Fingerprints:
    """The fingerprints of one process."""

    #: Factors of which libraries show content; their draws are told only where none did.
    SHOWN = ("init", "shuffle")

    def __init__(self, streams):
        self.streams = streams
        self.events = streams.process.events
        self.factors = {}
        #: Last mark of each generator, for each factor; of all factors together where nothing is switched.
        self.marks = {}
        #: Called before the last digests are written: what libraries show at the end of a process.
        self.at_end = []
        #: What shows content, and begins anew in a child process.
        self.shown_by = []

    def of(self, factor):
        """Return what is known of `factor`."""
        if factor not in self.factors:
            self.factors[factor] = Fingerprint()
        return self.factors[factor]

    # Draws

    def look(self, before):
        """See which generators moved while `before` drew, when it gives way to another factor."""
        found = self.of(before)
        found.looks += 1
        if not self.streams.controls or found.looks <= LOOKS or not found.looks & (found.looks - 1):
            self.see(before, found)

    def see(self, factor, found):
        """Take the generators that moved into the digest, whatever the order in which libraries were loaded."""
        moved = []
        for generator in self.streams.all_generators():
            mark = self.mark(generator, factor)
            if self.last_mark(generator, factor) != mark:
                moved.append((generator.name, mark))
                found.sources[generator.name] = generator.seeded
            self.marks[self.slot(generator, factor)] = mark
        if moved:
            # of one name, in the order in which the program made them
            moved.sort(key=by_name)
            found.digest = zlib.crc32(repr(moved).encode(), found.digest)
            self.count(factor, found)

    def slot(self, generator, factor):
        """Return the key of a mark: where nothing is switched, all factors share a state."""
        return id(generator), factor if self.streams.controls else None

    def mark(self, generator, factor):
        """Return a number that tells the state of `factor` from others."""
        live = not self.streams.controls or factor == generator.at
        return generator.mark(generator.live() if live else generator.state(factor))

    def last_mark(self, generator, factor):
        """Return the mark that was seen last; before that, the one the generator was seeded to."""
        slot = self.slot(generator, factor)
        if slot not in self.marks:
            if not self.streams.controls:
                return None
            self.marks[slot] = generator.mark(generator.fresh(self.streams.seed(factor, generator.key)))
        return self.marks[slot]

    def overlook(self, generators):
        """Take the states as they are for where the current factor's draws begin: a library seeded, or drew a seed."""
        for generator in generators:
            self.marks[self.slot(generator, self.streams.current)] = self.mark(generator, self.streams.current)

    def drawn(self, factor, number):
        """Take a draw into the digest that no switched generator makes."""
        found = self.of(factor)
        found.digest = zlib.crc32(b"%d" % number, found.digest)
        self.count(factor, found)

    def count(self, factor, found):
        """Count a movement; after the first few the digest is written."""
        found.moved += 1
        if found.moved == FIRST and factor not in self.SHOWN:
            self.write(factor, found, "first")

    def restart(self, generator):
        """Begin anew with a generator that was seeded."""
        for slot in [slot for slot in self.marks if slot[0] == id(generator)]:
            del self.marks[slot]

    # Content

    def content(self, name, digest, count, moment):
        """Say what a factor decided, where a library shows it."""
        found = self.of(name)
        found.content = True
        if self.streams.is_heard():
            self.events.write(self.event(name, digest, count, moment, found.sources))

    # Events

    def flush(self):
        """Write what was drawn so far and is not written yet; the main loop goes on, so initialisation is over."""
        for factor, found in list(self.factors.items()):
            if found.moved and not (found.said or found.content):
                self.write(factor, found, "first")

    def finish(self):
        """Write, at the normal end of the process, where every factor's generators stand."""
        for say in self.at_end:
            try:
                say()
            except Exception as error:
                self.events.note("fingerprint-missing", repr(error), say)
        current = self.streams.current
        for factor, found in list(self.factors.items()):
            if factor == current or (self.streams.controls and found.looks):
                self.see(factor, found)
            if found.moved and not found.content:
                self.write(factor, found, "end")

    def end_of_child(self):
        """Write, at the end of a child process, what of the first draws is not written yet."""
        current = self.streams.current
        self.see(current, self.of(current))
        for say in self.at_end:
            say()
        self.flush()

    def write(self, factor, found, moment):
        """Write the digest of a factor's draws."""
        found.said = True
        if self.streams.is_heard():
            self.events.write(self.event(factor, found.digest, found.moved, moment, found.sources))

    def event(self, name, digest, count, moment, sources):
        """Return the event that tells a digest."""
        told = [dict(seeded or {}, generator=generator) for generator, seeded in sorted(sources.items())]
        return {
            "event": "fingerprint",
            "name": name,
            "digest": "%08x" % digest,
            "count": count,
            "moment": moment,
            "sources": told,
        }

    def forget(self):
        """Begin anew in a child process, with generators in the states they are in now."""
        self.factors = {}
        self.marks = {}
        self.at_end = []
        for part in self.shown_by:
            part.forget()
        self.overlook(self.streams.all_generators())
