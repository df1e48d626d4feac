"""Say what happens in the process, one JSON object a line."""

import json
import os

from .files import open_appending, own_path, own_stem

#: Notes of one kind that a process writes; the last one says so.
NOTES_OF_A_KIND = 5


class Events:
    """The events file. It is opened for each event: a program that closes every descriptor does no harm."""

    __slots__ = ("folder", "describe", "path", "stem", "begun", "said")

    def __init__(self, folder, describe):
        self.folder = folder
        self.describe = describe
        self.path = None
        #: Shared with the records file of the process.
        self.stem = None
        self.begun = False
        #: Number of notes by slug, and the (slug, subject) pairs said.
        self.said = {}

    def begin(self):
        """Create the file with its start event."""
        self.begun = True
        self.stem = own_stem()
        self.path = own_path(self.folder, "events", self.stem, "jsonl")
        self.append(self.describe())

    def leave_to_parent(self):
        """Forget the file: it is the parent's."""
        self.begun = False

    def write(self, event):
        """Append `event`."""
        if not self.begun:
            self.begin()
        self.append(event)

    def append(self, event):
        """Append a line; where that fails there is nobody to tell."""
        try:
            line = (json.dumps(event, default=repr) + "\n").encode("utf-8", "backslashreplace")
            descriptor = open_appending(self.path)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except (OSError, ValueError, TypeError):
            return

    def note(self, slug, message, subject=None):
        """Say once per subject, and a few times in all, what could not be done."""
        if subject is not None and (slug, subject) in self.said:
            return
        self.said[slug, subject] = True
        count = self.said[slug] = self.said.get(slug, 0) + 1
        if count > NOTES_OF_A_KIND:
            return
        if count == NOTES_OF_A_KIND:
            message += " (further notes of this kind are left out)"
        self.write({"event": "note", "slug": slug, "message": message[:2000]})
