"""Files that several processes of a run write beside each other."""

import _signal
import errno
import os
import time

APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT

#: Times that a file is opened while another thread closes every descriptor. Each of our calls lets it in once more, and
#: some tens of tries in a row were seen to fail.
TRIES = 2000


def own_stem():
    """Return what the names of this process's files share: process ids come again, so the time is in it too."""
    return "%d-%d" % (os.getpid(), time.time() * 1000)


def own_path(folder, kind, stem, suffix):
    """Return the path of one of this process's files."""
    return os.path.join(folder, "%s-%s.%s" % (kind, stem, suffix))


def use_file(path, flags, function):
    """Return what `function` returns for a descriptor of the file, which children do not inherit.

    Another thread may close every descriptor there is, as often as it likes, and open files of its own under their
    numbers: a descriptor that is not of the file by then is left alone, and the file is opened once more.
    """
    for _ in range(TRIES):
        try:
            descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o644)
            try:
                check_same(descriptor, path)
                return function(descriptor)
            finally:
                close_own(descriptor, path)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
    raise OSError(errno.EBADF, "descriptors are closed as soon as they are opened")


def check_same(descriptor, path):
    """Raise where a descriptor is not of the file at `path`, as if it were closed."""
    if not os.path.samestat(os.fstat(descriptor), os.stat(path)):
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def close_own(descriptor, path):
    """Close a descriptor of the file at `path`, unless another thread has closed it."""
    try:
        check_same(descriptor, path)
        os.close(descriptor)
    except OSError:
        return


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
