"""Memory that is a part of a file: what is stored in it is in the file, and no descriptor is held that could be taken.

Pages of the file survive the process, however it ends. Room is reserved on the disk before it is mapped, so that a full
disk is an error here, and no signal at a record.
"""

import errno
import mmap
import os
import sys

from .files import check_size

#: How a file system says that it cannot reserve room, or a system that it has no such call.
NOT_OFFERED = frozenset({errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.ENODEV})


class UnmappableError(Exception):
    """The file cannot be mapped here; it may be written all the same."""


def map_room(descriptor, start, end):
    """Reserve the bytes of a file from `start` to `end` on the disk, and return them as memory.

    Parameters
    ----------
    descriptor : int
        Of the file, open to read and write. It may be closed afterwards.

    Raises
    ------
    UnmappableError
        If there is no memory for them, or the file system has no such maps.
    OSError
        If there is no room for them.
    """
    reserve(descriptor, start, end)
    base = start - start % mmap.ALLOCATIONGRANULARITY
    try:
        mapped = map_for_good(descriptor, end - base, base)
    except (ImportError, OSError, ValueError, MemoryError) as error:
        if getattr(error, "errno", None) == errno.EBADF:
            raise
        raise UnmappableError(str(error)) from error
    return memoryview(mapped)[start - base :]


def reserve(descriptor, start, end):
    """Reserve room on the disk; a limit on the size of files is an error, and no signal."""
    check_size(end)
    try:
        os.posix_fallocate(descriptor, start, end - start)
    except AttributeError as error:
        raise UnmappableError(str(error)) from error
    except OSError as error:
        if error.errno in NOT_OFFERED:
            raise UnmappableError(str(error)) from error
        raise


def map_for_good(descriptor, length, offset):
    """Return a map of a part of a file that needs no descriptor."""
    if sys.version_info >= (3, 13):
        return mmap.mmap(descriptor, length, offset=offset, trackfd=False)  # novm
    import _ctypes

    # Python keeps a copy of the descriptor. With the map it would close the file that has that number by then, which
    # may be the program's: the copy is closed here, and the map is never given back.
    copy = os.dup(descriptor)
    os.close(copy)
    mapped = mmap.mmap(descriptor, length, offset=offset)
    _ctypes.Py_INCREF(mapped)
    if os.path.samestat(os.fstat(copy), os.fstat(descriptor)):
        os.close(copy)
    return mapped


def release(memory):
    """Take memory that is a part of a file out of what the process uses; it may be used again."""
    if memory is not None and hasattr(memory.obj, "madvise"):
        memory.obj.madvise(mmap.MADV_DONTNEED)  # novm
