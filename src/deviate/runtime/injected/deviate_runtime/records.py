"""Append fixed-size records to a file that a program cannot take away.

The file is mapped into memory, a region at a time, and no descriptor of it is held: a program may close all of them and
open files of its own. Where a file cannot be mapped, it is opened for each record.

A record is whole once its time is there, which is stored last: a slot without a time is unused, or of a process that
was killed over it. The first record of the file says that it is so, and how many records were lost.

Memory that is a part of a file: what is stored in it is in the file, and no descriptor is held that could be taken.

Pages of the file survive the process, however it ends. Room is reserved on the disk before it is mapped, so that a full
disk is an error here, and no signal at a record.
"""

import errno
import itertools
import mmap
import os
import struct
import sys
import time
from _thread import RLock

from .files import APPENDING, check_same, check_size, own_path, use_file
from .patching import raised_by_handler

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


RECORD = struct.Struct("<iidd")
SIZE = RECORD.size

#: Id of the first record, whose value is how many records could not be written.
HEAD = -4

#: Seconds after a failure in which nothing is tried.
SILENCE = 1.0

#: Where the first region ends: a process with few records leaves a block of the disk, as it would with one.
FIRST = 4096 // SIZE * SIZE

#: Bytes of the largest region. Each is as long as all before it until then.
DOUBLINGS = 8
LARGEST = FIRST << DOUBLINGS

DELETED = "the records file was deleted"

#: What stands for a time of 0, which would say that the slot is unused.
AT_ONCE = 1e-9


def bounds(region):
    """Return the bytes of the file where a region begins and ends."""
    if region == 0:
        return SIZE, FIRST
    if region <= DOUBLINGS:
        return FIRST << (region - 1), FIRST << region
    return LARGEST * (region - DOUBLINGS), LARGEST * (region - DOUBLINGS + 1)


def no_room():
    """Stand for a region without a slot."""
    return (lambda: 0), 0, None, None


class Records:
    """The records file, opened at the first record.

    Attributes
    ----------
    window : tuple
        Of the region that is written to: a function that hands out each slot once, in whichever thread or signal
        handler it is called; the number of slots; the memory of them, as bytes and as floats.
    """

    __slots__ = (
        "folder", "process", "path", "identity", "is_begun", "window", "region", "pending", "is_writing", "lock",
        "head", "is_mapped", "silent_until", "lost",
    )  # fmt: skip

    def __init__(self, folder, process):
        self.folder = folder
        self.process = process
        self.forget()

    def forget(self):
        """Be as before the first record."""
        self.path = None
        self.identity = None
        self.is_begun = False
        self.window = no_room()
        #: Number of the next region.
        self.region = 0
        #: Records that had no slot: those of a signal handler wait until the thread that it stopped has made room.
        self.pending = []
        self.is_writing = False
        self.lock = RLock()
        #: The memory of the first record, as floats.
        self.head = None
        self.is_mapped = True
        self.silent_until = 0.0
        self.lost = 0

    def append(self, metric, elapsed, number):
        """Write a record for which the region has no slot."""
        with self.lock:
            self.pending.append((metric, self.process.iteration, elapsed or AT_ONCE, number))
            if self.is_writing:
                return
            try:
                self.is_writing = True
                self.write_pending()
            finally:
                self.is_writing = False

    def write_pending(self):
        """Write the records that are pending, or count them as lost."""
        now = time.perf_counter()
        if now < self.silent_until:
            self.lose()
            return
        try:
            self.open()
            while self.pending:
                self.write(*self.pending[0])
                del self.pending[0]
        except (OSError, ValueError) as error:
            if raised_by_handler(error):
                raise
            self.fail(error, now)

    def write(self, metric, iteration, elapsed, number):
        """Store a record in the region, in the next one, or in a file that cannot be mapped."""
        while self.is_mapped:
            take, count, memory, times = self.window
            slot = take()
            if slot < count:
                RECORD.pack_into(memory, slot * SIZE, metric, iteration, 0.0, number)
                times[slot * 3 + 1] = elapsed
                return
            self.extend()
        self.append_to_file(RECORD.pack(metric, iteration, elapsed, number))

    def open(self):
        """Make the file with its first record, where that has not been done."""
        if self.is_begun:
            return
        if self.path is None:
            if self.process.streams is not None:
                self.process.streams.fingerprints.look()
            if not self.process.events.begun:
                self.process.events.begin()
            self.path = own_path(self.folder, "records", self.process.events.stem, "bin")
        self.append_to_file(RECORD.pack(HEAD, -1, AT_ONCE, 0.0))
        self.is_begun = True

    def append_to_file(self, record):
        """Write `record` at the end of the file, all of it or nothing."""

        def write(descriptor):
            end = os.fstat(descriptor).st_size
            check_size(end + SIZE)
            byte_count = os.write(descriptor, record)
            if byte_count != SIZE:
                os.ftruncate(descriptor, end)
                raise OSError(errno.ENOSPC, "only %d of %d bytes could be written" % (byte_count, SIZE))

        self.use(APPENDING, write)

    def use(self, flags, function):
        """Return what `function` returns for a descriptor of the file, which is made once and never again."""
        if self.identity is not None and not os.path.exists(self.path):
            raise OSError(errno.ENOENT, DELETED)

        def use_own(descriptor):
            status = os.stat(self.path)
            if self.identity is None:
                self.identity = status.st_dev, status.st_ino
            if self.identity != (status.st_dev, status.st_ino):
                raise OSError(errno.ENOENT, DELETED)
            return function(descriptor)

        return use_file(self.path, flags, use_own)

    def extend(self):
        """Go on with another region."""
        try:
            window = self.map_region(*bounds(self.region))
        except UnmappableError:
            self.is_mapped = False
            return
        release(self.window[2])
        self.region += 1
        self.window = window

    def map_region(self, start, end):
        """Return what `window` is for the bytes of the file from `start` to `end`."""
        first = 0 if self.head is None else start
        memory = self.use(os.O_RDWR, lambda descriptor: self.map_own(descriptor, first, end))
        if first != start:
            self.head = memory[:SIZE].cast("d")
            memory = memory[start - first :]
        return itertools.count().__next__, len(memory) // SIZE, memory, memory.cast("d")

    def map_own(self, descriptor, start, end):
        """Return a part of the file as memory, and of no other."""
        memory = map_room(descriptor, start, end)
        check_same(descriptor, self.path)
        return memory

    def lose(self):
        """Count the records that are pending as lost."""
        self.lost += len(self.pending)
        del self.pending[:]
        if self.head is not None:
            self.head[2] = self.lost

    def fail(self, error, now):
        """Note that records are being lost."""
        self.lose()
        self.process.events.tell_loss(error)
        self.silent_until = now + SILENCE
        self.process.events.note("record-file-unwritable", str(error), "records")

    def finish(self):
        """Write how many records were lost; all are where the file is gone."""
        if self.identity is not None and not os.path.exists(self.path):
            self.process.events.tell_loss(DELETED)
            self.process.events.note("record-file-deleted", DELETED, self.path)
        if self.lost:
            self.process.events.note("records-lost", "%d records could not be written" % self.lost, "records")
