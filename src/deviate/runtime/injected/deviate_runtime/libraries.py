"""Tell files of installed libraries from those of programs."""

import os

LIBRARY_FOLDERS = ("/site-packages/", "/dist-packages/")
STANDARD_LIBRARY = os.path.join(os.path.dirname(os.path.abspath(os.__file__)), "")
REAL_LIBRARY = os.path.join(os.path.dirname(os.path.realpath(os.__file__)), "")


def is_library_file(path):
    """Tell whether a file belongs to an installed library or to Python."""
    if path.startswith((STANDARD_LIBRARY, REAL_LIBRARY)):
        return True
    path = path.replace(os.sep, "/")
    return any(folder in path for folder in LIBRARY_FOLDERS)
