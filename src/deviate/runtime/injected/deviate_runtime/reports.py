"""From which lines the program prints, so that the loop that goes round shows where the source hides it.

The `write` of Python's own text streams is looked at where a line begins; what it is given is handed on as it is. A
look takes some microseconds, and is followed by two hundred times as long without one. A program that prints more than
a thousand lines a second is left alone after the first looks, as passing its text on would be felt.

`make_draw` makes the function that an overlay calls around draws in the program's own files.
"""

import os
import sys
import time
from threading import get_ident

from .patching import raised_by_handler

#: Lines that are looked at in a process, and those of them for which no time need have passed.
MOST = 400
FREE = 32

#: Lines a second, since the process started, of a program that is still looked at after these.
DENSEST = 1000

#: A look may take one part in so many of the time.
SHARE = 200

#: Seconds between two events with what was noted.
WRITE_EVERY = 0.5

#: Frames that are walked through, from the innermost on.
DEEPEST = 200


class Reports:
    """Notes the lines of the program's files that lead to a printed line, with how much was printed before it.

    Parameters
    ----------
    process : Process
        Where the notes go.
    places : dict
        By id of a stream, a function that returns how much was printed.
    """

    __slots__ = (
        "process", "places", "roots", "folder", "files", "stacks", "left", "look_at", "lines", "watched", "pending",
        "written_at",
    )  # fmt: skip

    def __init__(self, process, places):
        self.process = process
        self.places = places
        given = [process.config.get(name) for name in ("overlay", "original")]
        self.roots = [form(path) for path in given if path for form in (os.path.abspath, os.path.realpath)]
        self.folder = os.getcwd()
        #: Names of files relative to the project, empty where they are not of it, by what code objects say.
        self.files = {}
        #: Streams with what stands in for their `write`.
        self.watched = []
        self.forget()

    def forget(self):
        """Begin anew, as a forked child does."""
        #: Numbers of the stacks that were seen.
        self.stacks = {}
        #: What no event says so far: stacks in the order of their numbers, and lines.
        self.pending = [], []
        self.written_at = 0.0
        self.left = MOST
        self.look_at = 0.0
        self.lines = 0

    def watch(self, identity, stream):
        """Look at the lines that are written to a text stream from now on."""
        write, note = stream.write, self.note
        begins = True

        def written(*text):
            nonlocal begins
            if begins or text[:1] and text[0][:1] == "\r":
                note(identity)
            count = write(*text)
            if text[0]:
                begins = text[0][-1] in "\r\n"
            return count

        stream.write = written
        self.watched.append((stream, written))

    def leave(self):
        """Look at nothing any more."""
        self.left = 0
        for stream, written in self.watched:
            if vars(stream).get("write") is written:
                del stream.write
        self.watched = []

    def note(self, identity):
        """Write from where the program prints, unless the last look was not long ago."""
        began = time.perf_counter()
        self.lines += 1
        if self.left <= 0 or began < self.look_at:
            return
        try:
            place = self.places.get(identity)
            stack = self.stack()
            if place is None or not stack:
                return
            self.left -= 1
            stacks, lines = self.pending
            if stack not in self.stacks:
                self.stacks[stack] = len(self.stacks)
                stacks.append(stack)
            lines.append((identity, place(), round(began - self.process.started, 6), self.stacks[stack]))
            if began - self.written_at > WRITE_EVERY:
                self.write()
                self.written_at = began
            if self.left < MOST - FREE:
                now = time.perf_counter()
                self.look_at = now + SHARE * (now - began)
                if not self.left or self.lines > DENSEST * (now - self.process.started):
                    self.leave()
        except Exception as error:
            if raised_by_handler(error):
                raise
            self.leave()

    def write(self):
        """Write what was noted since the last time."""
        stacks, lines = self.pending
        if lines:
            self.pending = [], []
            self.process.events.write({"event": "reports", "stacks": stacks, "lines": lines})

    def stack(self):
        """Return file and line of the frames that are in the project's files, the outermost first."""
        frame, frames = sys._getframe(3), []
        for _ in range(DEEPEST):
            if frame is None:
                break
            name = self.name_of(frame.f_code.co_filename)
            if name:
                frames.append((name, frame.f_lineno))
            frame = frame.f_back
        return tuple(reversed(frames))

    def name_of(self, filename):
        """Return the name of a file of the project's relative to it, empty for others."""
        name = self.files.get(filename)
        if name is None:
            path = os.path.normpath(os.path.join(self.folder, filename))
            inside = [root for root in self.roots if path.startswith(root + os.sep)]
            name = os.path.relpath(path, max(inside, key=len)).replace(os.sep, "/") if inside else ""
            self.files[filename] = name
        return name


def watch_reports(process, printed):
    """Watch the standard streams that lead to the files of the run, and return what does."""
    reports = Reports(process, printed.places)
    for identity, stream in printed.streams.items():
        try:
            reports.watch(identity, stream)
        except AttributeError:
            continue  # no stream of Python's
    return reports


def make_draw(process):
    """Return `__dv_draw__`, which makes a function draw for the factor of its site.

    A site without a factor is only noted: it draws for the boundary that the program is in. Each site is noted once
    for each factor that it draws for.
    """
    from .streams.threads import draw_in_thread

    streams = process.streams
    factors = [site["factor"] for site in process.config["draws"]]
    reached = set()
    #: The factor for which each site last drew in the program's first thread with nothing left to do.
    settled = [None] * len(factors)

    def mark_draw(site, function):
        try:
            if settled[site] == streams.current and get_ident() == streams.thread:
                return function
            factor = factors[site]
            beside = get_ident() != streams.thread
            drawn = site, factor or ("other" if beside else streams.current)
            if drawn not in reached:
                reached.add(drawn)
                process.events.write({"event": "draw", "site": site, "factor": drawn[1]})
            if beside and streams.controls:
                own = draw_in_thread(streams, factor, function)
                if own is not None:
                    return own
            if not factor or factor == streams.current:
                if not beside:
                    settled[site] = streams.current
                return function
            return Inside(streams, factor, function)
        except Exception as error:
            process.events.note("draw-not-told-apart", repr(error), "draw")
        return function

    if process.config.get("explain"):
        from .streams.callers import explain_draws

        return explain_draws(process, mark_draw)
    return mark_draw


class Inside:
    """A function that draws for a factor. It is called at once and never kept."""

    __slots__ = ("streams", "factor", "function")

    def __init__(self, streams, factor, function):
        self.streams = streams
        self.factor = factor
        self.function = function

    def __call__(self, *args, **kwargs):
        before = self.streams.enter(self.factor)
        try:
            return self.function(*args, **kwargs)
        finally:
            self.streams.leave(before)
