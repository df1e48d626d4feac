"""Where the output of the run stood when an iteration of the main loop began.

What the program printed is read after the run; a note for each iteration that was preceded by output tells which
iteration a line is of. Nothing is written to the program's output, and nothing is flushed: it is buffered as ever.
"""

import gc
import os
import sys

#: The ids under which the size of the output so far is recorded, in bytes.
STDOUT = -2
STDERR = -3

#: The files that the output of a run is led to, in the folder of its records.
FILES = {STDOUT: "stdout.log", STDERR: "stderr.log"}


class Printed:
    """Notes how much a process and its run had printed.

    Parameters
    ----------
    folder : str
        The run's folder.
    record : function
        Called with an id and a number.
    """

    __slots__ = ("record", "places", "streams", "noted")

    def __init__(self, folder, record):
        self.record = record
        self.noted = {STDOUT: 0, STDERR: 0}
        #: Functions that return how much was printed, by id; none where the output goes elsewhere.
        self.places = {}
        #: Python's own streams that lead to them, by id.
        self.streams = {}
        if leads_to(1, folder, FILES[STDOUT]):
            self.places[STDOUT] = size_of(sys.__stdout__)
            self.streams[STDOUT] = sys.__stdout__
        if leads_to(2, folder, FILES[STDERR]):
            # Python writes each line to it at once.
            self.places[STDERR] = lambda: os.lseek(2, 0, os.SEEK_CUR)
            self.streams[STDERR] = sys.__stderr__

    def look(self):
        """Record how much was printed, where that is more than at the last look."""
        for identity, place in list(self.places.items()):
            try:
                size = place()
            except (OSError, ValueError):
                del self.places[identity]  # the program closed it
                continue
            if size != self.noted[identity]:
                self.noted[identity] = size
                self.record(identity, size)


def leads_to(descriptor, folder, name):
    """Tell whether a descriptor is of a file of the run's."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(os.path.join(folder, name)))
    except (OSError, ValueError):
        return False


def size_of(stream):
    """Return a function that returns how much was written to a text stream, in bytes, what it still holds included."""
    if type(getattr(stream, "buffer", None)).__name__ != "BufferedWriter":
        return lambda: os.lseek(1, 0, os.SEEK_CUR)
    tell, nothing = stream.buffer.tell, held_by(stream)
    return lambda: tell() + held_by(stream) - nothing


def held_by(stream):
    """Return the length of all text and bytes that a text stream refers to: what it has not yet handed on, and names.

    CPython's stream shows what it holds to the garbage collector only, as text that is ASCII, bytes, or a list of them.
    """
    length = 0
    for each in gc.get_referents(stream):
        kind = type(each)
        if kind is str or kind is bytes:
            length += len(each)
        elif kind is list:
            length += sum(map(len, each))
    return length
