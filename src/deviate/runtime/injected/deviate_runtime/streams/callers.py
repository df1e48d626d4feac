"""Tell whether the program itself seeds, or a library for its own purposes.

Which lines drew for one factor, in which order: for `deviate audit --explain`, in its probes only.

It looks at the generators at every switch and around every draw that the overlay marks, which is too slow for a run.

Boundaries: functions that draw for a factor, and libraries that draw as they are imported.
"""

import functools
import os
import re
import sys

from ..factors import OTHER, OUTSIDE
from ..frameworks import every
from ..patching import inside_library, is_installed, is_library_file, standing

SEEDED = every("seeded")
SEEDING_FILES = every("seeding_files")

#: Once torch's compiler is loaded, ``torch.manual_seed`` is called through it.
FORWARDERS = ("/torch/_dynamo/", "/torch/_compile.py")

#: Files that TensorFlow makes of the program's functions, with lines of their own.
GENERATED = "__autograph_generated_file"

#: What stands between the program and a library is neither.
RUNTIME = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "")


class Callers:
    """Tells frames of the program from those of libraries."""

    def __init__(self, config):
        self.overlay = os.path.join(os.path.abspath(config.get("overlay") or os.curdir), "")
        self.known = {}

    def locate(self, frame):
        """Return where the program seeds: ``file``, ``line`` and whether a ``library`` does it by a seed of its own.

        Where the program calls a library's function that is there to seed, the line is the program's; where it calls
        another function, which seeds as well, it is the library's, and ``through`` the program's. None where a library
        seeds for its own purposes.
        """
        frame = past_forwarders(frame)
        if frame is None:
            return None
        if self.is_program(frame):
            return dict(self.line(frame), library=False)
        if not seeds_on_behalf(frame.f_code):
            return None
        library, requested = frame, True
        while frame is not None and not self.is_program(frame):
            requested = requested and is_seeding(frame.f_code)
            frame = frame.f_back
        if frame is None:
            return None
        if requested:
            return dict(self.line(frame), library=False)
        inside = inside_library(library.f_code.co_filename)
        through = "%(file)s:%(line)d" % self.line(frame)
        return {"file": inside, "line": library.f_lineno, "library": True, "through": through}

    def locate_library(self, frame):
        """Return where a library seeds."""
        file = frame.f_code.co_filename
        return {"file": inside_library(file) or file, "line": frame.f_lineno, "library": True}

    def line(self, frame):
        """Return the file and the line that `frame` is at."""
        return {"file": self.relative(frame.f_code.co_filename), "line": frame.f_lineno}

    def is_program(self, frame):
        """Tell whether `frame` runs a file of the program."""
        file = frame.f_code.co_filename
        known = self.known.get(file)
        if known is None:
            known = self.known[file] = self.is_program_file(file, frame.f_globals.get("__name__"))
        return known

    def is_program_file(self, file, module):
        """Tell whether `file` belongs to the program and to no library."""
        if file.startswith("<"):
            return module == "__main__"
        path = os.path.abspath(file)
        if path.startswith(self.overlay):
            return True
        if path.startswith(RUNTIME) or GENERATED in file:
            return False
        return not (is_library_file(path) or is_installed(path))

    def relative(self, file):
        """Return `file` relative to the overlay where it lies in it; a cell of a notebook without the process's id."""
        file = re.sub(r"(?<=/ipykernel_)\d+/", "cells/", file)
        path = os.path.abspath(file)
        return path[len(self.overlay) :].replace(os.sep, "/") if path.startswith(self.overlay) else file


def past_forwarders(frame):
    """Return the first frame that does not just hand on a seed it was given."""
    while frame is not None and forwards(frame):
        frame = frame.f_back
    return frame


def forwards(frame):
    """Tell whether `frame` is the constructor of `random.Random`, or a wrapper that `torch.compile` put around."""
    if frame.f_globals is vars(sys.modules.get("random", sys)):
        return True
    file = frame.f_code.co_filename.replace(os.sep, "/")
    return any(part in file for part in FORWARDERS)


def seeds_on_behalf(code):
    """Tell whether a library's function seeds because the program wants it (``set_seed``, ``seed_everything``)."""
    inside = inside_library(code.co_filename)
    if inside is None or inside in SEEDING_FILES:
        return inside is not None
    if inside.partition("/")[0] in SEEDED:
        return False
    return is_seeding(code)


def is_seeding(code):
    """Tell by its name whether a function is there to seed."""
    name = code.co_name
    return ("seed" in name or "determinism" in name) and "worker" not in name


#: Each of so many draws of a line is written; later ones at powers of two, as a probe may be ended at any moment.
WRITTEN_ONE_BY_ONE = 16


class Explainer:
    """Draws of one factor, counted by the line of the program that made them.

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


#: Of code: it is a generator's, which draws when it is asked for its next value.
GENERATOR = 0x20


def patch_rows(module, streams):
    """Have the functions of `module` that the table of boundaries has draw for their factors."""
    for name, paths, factor, within in every("boundaries"):
        for path in paths.split() if name == module.__name__ else ():
            *owners, pattern = path.split(".")
            owner = functools.reduce(lambda outer, inner: getattr(outer, inner, None), owners, module)
            for function in matching(owner, pattern):
                bind(streams, owner, function, factor, within)


def matching(owner, pattern):
    """Return the attributes that `pattern` matches: itself, or all that begin like it where it ends in ``*``."""
    start = pattern.rstrip("*")
    return [pattern] if start == pattern else [name for name in dir(owner) if name.startswith(start)]


def bind(streams, owner, name, factor, within=OUTSIDE):
    """Have a function of `owner` draw for `factor`; a version that lacks it stays as it is."""
    plain = vars(owner).get(name) if isinstance(owner, type) else getattr(owner, name, None)
    if callable(plain) and not hasattr(plain, "_deviate"):
        setattr(owner, name, standing(plain, drawing(streams, factor, plain, within), owner))


def drawing(streams, factor, function, within=OUTSIDE):
    """Return `function` with its draws made for `factor` where one of `within` draws as it is called, or always."""
    inside = streams.within(factor, function)
    if getattr(getattr(function, "__code__", None), "co_flags", 0) & GENERATOR:

        def inside(*args, **kwargs):
            return iterate(streams, factor, function(*args, **kwargs))

        functools.update_wrapper(inside, function)
        inside._deviate = True
    if within is None:
        return inside

    @functools.wraps(function)
    def at_boundary(*args, **kwargs):
        return (inside if streams.current in within else function)(*args, **kwargs)

    at_boundary._deviate = True
    return at_boundary


def iterate(streams, factor, iterator, once=False):
    """Yield what `iterator` does, each item drawn for `factor`; `once`: making the first item draws, and no other."""
    draws = True
    while True:
        before = streams.enter(factor) if draws else streams.pass_by(factor)
        try:
            item = next(iterator)
        except StopIteration:
            return
        finally:
            streams.leave(before)
        draws = not once
        yield item


def disregard_all_draws(module, streams):
    """Leave out what a library drew as it was imported, also from shared generators unless the program drew before."""
    streams.fingerprints.rebase([generator for generator in streams.made.values() if generator.seeded is None])
    if streams.current == OTHER and not streams.fingerprints.of(OTHER).count:
        streams.fingerprints.rebase(streams.generators)
