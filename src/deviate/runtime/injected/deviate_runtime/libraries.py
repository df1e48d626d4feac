"""Tell files of installed libraries from those of programs."""

import os

LIBRARY_FOLDERS = ("/site-packages/", "/dist-packages/")
STANDARD_LIBRARY = os.path.join(os.path.dirname(os.path.abspath(os.__file__)), "")
REAL_LIBRARY = os.path.join(os.path.dirname(os.path.realpath(os.__file__)), "")

#: Whether libraries are installed in a folder, by folder.
INSTALLED = {}


def is_library_file(path):
    """Tell whether a file belongs to an installed library or to Python."""
    return path.startswith((STANDARD_LIBRARY, REAL_LIBRARY)) or inside_library(path) is not None


def inside_library(path):
    """Return the path of a file within the folder that libraries are installed in, None where it is elsewhere."""
    path = path.replace(os.sep, "/")
    return next((path.rpartition(folder)[2] for folder in LIBRARY_FOLDERS if folder in path), None)


def is_installed(path):
    """Tell whether a file outside the project is of a library that lies elsewhere: ``pip install --target``."""
    folder = os.path.dirname(path)
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    if folder not in INSTALLED:
        names = os.listdir(folder) if os.path.isdir(folder) else ()
        INSTALLED[folder] = any(name.endswith(".dist-info") for name in names)
    return INSTALLED[folder]
