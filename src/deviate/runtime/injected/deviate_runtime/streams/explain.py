"""Which lines drew for one factor, in which order: for `deviate audit --explain`, in its probes only.

It looks at the generators at every switch and around every draw that the overlay marks, which is too slow for a run.
"""

import sys

from .callers import RUNTIME

#: Each of so many draws of a line is written; later ones at powers of two, as a probe may be ended at any moment.
WRITTEN_ONE_BY_ONE = 16


class Explainer:
    """Counts the draws of one factor, for each line of the program.

    A line is ``file, line, call, exact``; not exact: the draw was made somewhere before that line.
    """

    def __init__(self, streams, factor):
        self.streams = streams
        self.factor = factor
        #: What draws for the factor now; None where that is not known.
        self.line = None
        #: The lines that draw again once a boundary of another factor is left.
        self.waiting = []
        #: The draw that the overlay marks and that is being made.
        self.site = None
        self.lines = {}
        fingerprints = streams.fingerprints
        self.plain_switch = streams.switch
        self.plain_sample = fingerprints.sample
        self.plain_add = fingerprints.add
        self.plain_forget = fingerprints.forget
        streams.switch = self.switch
        fingerprints.sample = self.sample
        fingerprints.add = self.add
        self.plain_finish = fingerprints.finish
        fingerprints.forget = self.forget
        fingerprints.finish = self.finish

    def switch(self, factor):
        """Switch as ever; what the factor drew until now was drawn by its line."""
        before, frame = self.streams.current, sys._getframe(1)
        leaves = frame.f_code.co_name == "leave"
        if before == self.factor and self.line is None:
            self.line = self.locate(frame, exact=False)
        self.plain_switch(factor)
        if before == self.factor:
            if not leaves:
                self.waiting.append(self.line if self.line is not None and self.line[3] else None)
            self.line = None
        if factor == self.factor:
            if leaves:
                self.line = self.waiting.pop() if self.waiting else None
            else:
                self.line = self.site or self.locate(frame)

    def sample(self, factor):
        """Look at the generators at every switch away from the factor."""
        if factor == self.factor:
            self.look()
        else:
            self.plain_sample(factor)

    def look(self):
        """Take what was drawn since the last look into the digest."""
        fingerprints = self.streams.fingerprints
        fingerprints.update(self.factor, fingerprints.of(self.factor))

    def add(self, factor, fingerprint, data):
        """Note a movement with the line that made it."""
        self.plain_add(factor, fingerprint, data)
        if factor == self.factor:
            try:
                self.note(self.line or self.locate(sys._getframe(1), exact=False), fingerprint.digest)
            except Exception as error:
                self.streams.process.events.note("draws-not-explained", repr(error), "explain")

    def note(self, line, digest):
        """Count a draw of a line, and write it if it is one to be written."""
        entry = self.lines.setdefault(line, {"order": len(self.lines), "count": 0, "digest": "%08x" % digest})
        entry["count"] += 1
        count = entry["count"]
        if count <= WRITTEN_ONE_BY_ONE or not count & (count - 1):
            self.write(line, entry)

    def write(self, line, entry):
        """Write how often a line drew so far."""
        if self.streams.is_reporting():
            file, number, call, exact = line
            location = {"file": file, "line": number, "call": call, "exact": exact}
            self.streams.process.events.write(dict(entry, event="explained", factor=self.factor, **location))

    def finish(self):
        """Write the last counts at the normal end of the process."""
        self.plain_finish()
        for line, entry in list(self.lines.items()):
            if entry["count"] > WRITTEN_ONE_BY_ONE:
                self.write(line, entry)

    def drawing(self, site, factor, function):
        """Return `function`, which the overlay marks as one that draws for `factor`, with what it draws noted."""

        def explained(*args, **kwargs):
            if (factor or self.streams.current) != self.factor:
                return function(*args, **kwargs)
            line, is_current = self.line, self.streams.current == self.factor
            if is_current:
                self.look()
                self.line = site
            self.site = site
            try:
                return function(*args, **kwargs)
            finally:
                self.site = None
                if is_current:
                    self.look()
                    self.line = line

        return explained

    def forget(self):
        """Begin anew in a child process."""
        self.line, self.site, self.waiting, self.lines = None, None, [], {}
        self.plain_forget()

    def locate(self, frame, exact=True):
        """Return the line of the program that `frame` was reached from, and which function of a library it called."""
        callers = self.streams.callers
        called = None
        while frame is not None and not callers.is_program(frame):
            if not frame.f_code.co_filename.startswith(RUNTIME):
                called = frame
            frame = frame.f_back
        if frame is None:
            return "", 0, "", False
        line = callers.line(frame)
        return line["file"], line["line"], describe(called) if exact else "", exact


def describe(frame):
    """Return the name of a library's function."""
    if frame is None:
        return ""
    name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
    return "%s.%s" % (frame.f_globals.get("__name__", "?"), name)


def explain_draws(process, mark_draw):
    """Return `__dv_draw__` with each draw noted by its line."""
    explainer = process.streams.explainer
    sites = [((site["file"], site["line"], site["call"], True), site["factor"]) for site in process.config["draws"]]

    def mark_explained(site, function):
        line, factor = sites[site]
        return explainer.drawing(line, factor, mark_draw(site, function))

    return mark_explained
