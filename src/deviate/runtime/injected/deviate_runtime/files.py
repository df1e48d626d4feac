"""Files that several processes of a run write beside each other; what happens in each, one JSON object a line."""

import _signal
import errno
import json
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


#: Notes of one slug that a process writes; the last one adds that further ones are left out.
NOTES_PER_SLUG = 5

#: Bytes kept free in the file for the one event that must be written when the disk is full.
RESERVE = 200

#: What fills them until then.
RESERVED = {"event": "reserved"}


class Events:
    """The events file. It is opened for each event: a program that closes every descriptor does no harm."""

    __slots__ = ("folder", "describe", "path", "stem", "begun", "notes")

    def __init__(self, folder, describe):
        self.folder = folder
        self.describe = describe
        self.path = None
        #: Shared with the records file of the process.
        self.stem = None
        self.begun = False
        #: Number of notes by slug, and the (slug, subject) pairs that were written.
        self.notes = {}

    def begin(self):
        """Create the file with its start event."""
        self.begun = True
        self.stem = own_stem()
        self.path = own_path(self.folder, "events", self.stem, "jsonl")
        self.append(self.describe())
        self.append_line(padded(RESERVED))

    def tell_loss(self, reason):
        """Write into the space kept free that records are being lost: whoever reads them must know."""
        if not self.begun:
            return

        def tell(descriptor):
            start = os.read(descriptor, os.fstat(descriptor).st_size).find(padded(RESERVED))
            if start >= 0:
                os.lseek(descriptor, start, os.SEEK_SET)
                os.write(descriptor, padded({"event": "records-lost", "reason": str(reason)[:50]}))

        try:
            use_file(self.path, os.O_RDWR, tell)
        except (OSError, ValueError):
            return

    def leave_to_parent(self):
        """Forget the file: it is the parent's."""
        self.begun = False

    def later(self):
        """Return the lines of the file after the two that it begins with."""
        with open(self.path, "rb") as file:
            return file.readlines()[2:]

    def move(self, folder):
        """Go on with a file in another folder, which `begin` makes."""
        self.folder = folder
        self.begun = False

    def write(self, event):
        """Append `event`."""
        if not self.begun:
            self.begin()
        self.append(event)

    def append(self, event):
        """Append `event` as a line."""
        try:
            line = (json.dumps(event, default=repr) + "\n").encode("utf-8", "backslashreplace")
        except (ValueError, TypeError):
            return
        self.append_line(line)

    def append_line(self, line):
        """Append a line; where that fails nothing can be done."""
        try:
            use_file(self.path, APPENDING, lambda descriptor: os.write(descriptor, line))
        except (OSError, ValueError):
            return

    def note(self, slug, message, subject=None):
        """Write, once per subject and a few times in all, what could not be done; count further ones roughly."""
        if subject is not None and (slug, subject) in self.notes:
            return
        self.notes[slug, subject] = True
        count = self.notes[slug] = self.notes.get(slug, 0) + 1
        if count > NOTES_PER_SLUG:
            left_out = count - NOTES_PER_SLUG
            if not left_out & (left_out - 1):
                self.write({"event": "notes-left-out", "slug": slug, "count": left_out})
            return
        if count == NOTES_PER_SLUG:
            message += " (further notes of this kind are left out)"
        self.write({"event": "note", "slug": slug, "message": message[:2000]})


def padded(event):
    """Return `event` as a line of exactly `RESERVE` bytes."""
    return json.dumps(event).encode("ascii")[: RESERVE - 1].ljust(RESERVE - 1) + b"\n"
