"""Write down what happens in the process, one JSON object a line."""

import json
import os

from .files import APPENDING, own_path, own_stem, use_file

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
