"""Tell files of installed libraries from those of programs."""

import os

LIBRARY_FOLDERS = ("/site-packages/", "/dist-packages/")
STANDARD_LIBRARY = os.path.join(os.path.dirname(os.path.abspath(os.__file__)), "")
REAL_LIBRARY = os.path.join(os.path.dirname(os.path.realpath(os.__file__)), "")


def is_library_file(path):
    """Tell whether a file belongs to an installed library or to Python."""
    return path.startswith((STANDARD_LIBRARY, REAL_LIBRARY)) or inside_library(path) is not None


def inside_library(path):
    """Return the path of a file within the folder that libraries are installed in, None where it is elsewhere."""
    path = path.replace(os.sep, "/")
    return next((path.rpartition(folder)[2] for folder in LIBRARY_FOLDERS if folder in path), None)
