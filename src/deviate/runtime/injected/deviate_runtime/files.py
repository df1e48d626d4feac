"""Files that several processes of a run write beside each other."""

import _signal
import errno
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


def check_size(end):
    """Raise where the process may not make files of `end` bytes, and would be sent a signal for it."""
    number = getattr(_signal, "SIGXFSZ", None)
    if number is None or _signal.getsignal(number) == _signal.SIG_IGN:
        # As Python begins: the attempt fails.
        return
    import resource

    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if most != resource.RLIM_INFINITY and end > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
