"""Tell whether the program itself seeds, or a library for its own purposes."""

import os
import sys

#: Libraries whose own seeding functions are replaced: what these call among themselves is not replaced again.
SEEDED = ("torch", "keras", "tf_keras", "tensorflow", "numpy", "jax")

#: Files that seed on the program's behalf in functions without "seed" in their name.
ON_BEHALF = ("flax/nnx/rnglib.py",)

#: Once torch's compiler is loaded, ``torch.manual_seed`` is called through it.
FORWARDERS = ("/torch/_dynamo/", "/torch/_compile.py")

LIBRARY_FOLDERS = ("/site-packages/", "/dist-packages/")
STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__))


class Callers:
    """Places in the program's files."""

    def __init__(self, config):
        self.overlay = os.path.join(os.path.abspath(config.get("overlay") or os.curdir), "")
        self.known = {}

    def place(self, frame):
        """Return the file and line that seed, None where a library seeds for its own purposes."""
        frame = past_forwarders(frame)
        if frame is None or not (self.is_program(frame) or seeds_on_behalf(frame.f_code)):
            return None
        while frame is not None and not self.is_program(frame):
            frame = frame.f_back
        return None if frame is None else (self.relative(frame.f_code.co_filename), frame.f_lineno)

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
        path = path.replace(os.sep, "/")
        return not path.startswith(STANDARD_LIBRARY) and not any(folder in path for folder in LIBRARY_FOLDERS)

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
    """Tell whether a library's function seeds because the program asked for it (``set_seed``, ``seed_everything``)."""
    file = code.co_filename.replace(os.sep, "/")
    if file.endswith(ON_BEHALF):
        return True
    inside = next((file.rpartition(folder)[2] for folder in LIBRARY_FOLDERS if folder in file), None)
    if inside is None or inside.partition("/")[0] in SEEDED:
        return False
    return "seed" in code.co_name and "worker" not in code.co_name
