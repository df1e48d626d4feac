"""Files that several processes of a run write beside each other."""

import os
import time


def own_path(folder, kind, suffix):
    """Return a path that no other process uses: process ids come again, so the time is in it too."""
    return os.path.join(folder, "%s-%d-%d.%s" % (kind, os.getpid(), time.time() * 1000, suffix))


def open_appending(path):
    """Open `path` to append; children do not inherit the descriptor."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
