"""Tell whether the program itself seeds, or a library for its own purposes."""

import os
import sys

from ..frameworks import every
from ..libraries import inside_library, is_library_file

SEEDED = every("seeded")
SEEDING_FILES = every("seeding_files")

#: Once torch's compiler is loaded, ``torch.manual_seed`` is called through it.
FORWARDERS = ("/torch/_dynamo/", "/torch/_compile.py")

#: Files that TensorFlow makes of the program's functions, with lines of their own.
GENERATED = "__autograph_generated_file"

#: What stands between the program and a library is neither.
RUNTIME = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


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
        return not is_library_file(path)

    def relative(self, file):
        """Return `file` relative to the overlay where it lies in it."""
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
