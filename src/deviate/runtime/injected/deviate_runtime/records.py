"""Append fixed-size records."""

import errno
import os
import struct
import time

from .files import open_appending, own_path

RECORD = struct.Struct("<iidd")

#: Seconds between two checks that the descriptor is still this file's. A program may close every descriptor and open
#: files of its own; a check costs as much as a record.
CHECK_INTERVAL = 1.0

#: Descriptors as high as these are not reached by a program's own files after it closed them all.
HIGH_DESCRIPTORS = (900, 500, 200, 100)


class Records:
    """The records file, opened at the first record."""

    __slots__ = ("folder", "process", "path", "descriptor", "identity", "look_at", "silent_until", "lost")

    def __init__(self, folder, process):
        self.folder = folder
        self.process = process
        self.lost = 0
        self.forget()

    def forget(self):
        """Be as before the first record."""
        self.path = None
        self.descriptor = -1
        self.identity = None
        #: Until this moment a record may be written without a check.
        self.look_at = 0.0
        self.silent_until = 0.0

    def leave_to_parent(self):
        """Close a descriptor inherited by a fork."""
        if self.is_open():
            os.close(self.descriptor)
        self.lost = 0
        self.forget()

    def is_open(self):
        """Tell whether the descriptor is open and still this file's."""
        if self.descriptor < 0:
            return False
        try:
            status = os.fstat(self.descriptor)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self.identity

    def append_carefully(self, record):
        """Write `record` after a check of the file; where that fails, write nothing for a while."""
        now = time.perf_counter()
        if now < self.silent_until:
            self.lost += 1
            return
        try:
            if not self.is_open():
                self.open()
            self.complain_if_deleted()
            self.look_at = now + CHECK_INTERVAL
            byte_count = os.write(self.descriptor, record)
            if byte_count != RECORD.size:
                self.cut(byte_count)
        except (OSError, ValueError) as error:
            self.fail(error, now)

    def open(self):
        """Open the file under a high descriptor."""
        if self.path is None:
            if self.process.streams is not None:
                self.process.streams.fingerprints.look()
            if not self.process.events.begun:
                self.process.events.begin()
            self.path = own_path(self.folder, "records", self.process.events.stem, "bin")
        low = open_appending(self.path)
        self.descriptor = raise_descriptor(low)
        status = os.fstat(self.descriptor)
        self.identity = (status.st_dev, status.st_ino)

    def complain_if_deleted(self):
        """Note that the file is gone from its folder."""
        if os.fstat(self.descriptor).st_nlink == 0:
            self.process.events.tell_loss("the records file was deleted")
            self.process.events.note("record-file-deleted", "the records file was deleted", self.path)

    def cut(self, byte_count):
        """Cut a partial record off the end of the file, so that later records can be read."""
        size = os.fstat(self.descriptor).st_size
        os.ftruncate(self.descriptor, size - size % RECORD.size)
        raise OSError(errno.ENOSPC, "only %d of %d bytes could be written" % (byte_count, RECORD.size))

    def fail(self, error, now):
        """Note that records are being lost."""
        self.lost += 1
        self.process.events.tell_loss(error)
        self.look_at = 0.0
        self.silent_until = now + CHECK_INTERVAL
        self.process.events.note("record-file-unwritable", str(error), "records")

    def report_losses(self):
        """Write how many records were lost."""
        if self.lost:
            self.process.events.note("records-lost", "%d records could not be written" % self.lost, "records")


def raise_descriptor(low):
    """Return a copy of descriptor `low` with a high number, `low` itself where there is none."""
    try:
        import fcntl
    except ImportError:
        return low
    for least in HIGH_DESCRIPTORS:
        try:
            high = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, least)
        except OSError:
            continue
        os.close(low)
        return high
    return low
