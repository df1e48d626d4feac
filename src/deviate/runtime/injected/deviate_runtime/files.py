"""Files that several processes of a run write beside each other."""

import os
import time


def own_stem():
    """Return what the names of this process's files share: process ids come again, so the time is in it too."""
    return "%d-%d" % (os.getpid(), time.time() * 1000)


def own_path(folder, kind, stem, suffix):
    """Return the path of one of this process's files."""
    return os.path.join(folder, "%s-%s.%s" % (kind, stem, suffix))


def open_appending(path):
    """Open `path` to append; children do not inherit the descriptor."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
